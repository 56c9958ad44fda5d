/* SPDX-License-Identifier: Apache-2.0 */
/* The device that RDMA_TEST_DEVICE names, by the distribution's libraries and nothing of the software device. */
#ifndef SHUFFLE_RDMA_REAL_DEVICE_H
#define SHUFFLE_RDMA_REAL_DEVICE_H

#include "test.h"

/* Once a device is open: what is mapped into this process, by proc(5), /proc/PID/maps. */
static inline void check_real_libraries(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	bool verbs = false, provider = false;
	char line[4096];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		const char *path = strchr(line, '/');

		if (!path)
			continue;
		if (strstr(path, "softverbs"))
			test_fail(__FILE__, __LINE__, "nothing of the software device is mapped");
		if (strncmp(path, "/usr/lib/", 9) && strncmp(path, "/lib/", 5))
			continue;
		verbs = verbs || strstr(path, "/libibverbs.so.1");
		provider = provider || strstr(path, "/libibverbs/lib");
	}
	fclose(maps);
	CHECK(verbs);
	CHECK(provider);
}

#endif

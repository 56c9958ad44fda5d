/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors this process has open (proc(5), /proc/PID/fd): what peers do must not leave any behind. */
#ifndef SHUFFLE_RDMA_TEST_DESCRIPTORS_H
#define SHUFFLE_RDMA_TEST_DESCRIPTORS_H

#include "test.h"

#include <dirent.h>

static inline int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* Waits until there are so many or fewer: a link closes behind the event that tells of it. */
static inline void expect_descriptors(int at_most)
{
	uint64_t deadline = test_now_ms() + 20000;

	while (open_descriptors() > at_most) {
		CHECK(test_now_ms() < deadline);
		test_sleep_ms(10);
	}
}

#endif

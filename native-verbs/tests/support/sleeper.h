/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until another thread of this process waits in a call, so that no test has to guess how long that takes. */
#ifndef SHUFFLE_RDMA_TEST_SLEEPER_H
#define SHUFFLE_RDMA_TEST_SLEEPER_H

#include "test.h"

/* Returns once the thread sleeps, by proc(5), /proc/PID/task/TID/stat. */
static inline void await_sleep(pid_t thread)
{
	uint64_t deadline = test_now_ms() + 20000;
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	while (state != 'S') {
		FILE *file = fopen(path, "re");

		CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
		fclose(file);
		CHECK(test_now_ms() < deadline);
		test_sleep_ms(1);
	}
}

#endif

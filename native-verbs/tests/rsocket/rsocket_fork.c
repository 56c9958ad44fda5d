/* SPDX-License-Identifier: Apache-2.0 */
/* The child of a fork can only close its parent's rsockets, at once, and the parent loses nothing by it. */
#include <sys/wait.h>

#include "rsocket_fixture.h"

static void use_in_child(int end)
{
	char byte;

	CHECK_EQUAL(softverbs_rsend(end, "x", 1, 0), -1);
	CHECK_EQUAL(errno, EIO);
	CHECK_EQUAL(softverbs_rrecv(end, &byte, 1, 0), -1);
	CHECK_EQUAL(errno, EIO);
	CHECK_EQUAL(softverbs_rsocket(AF_INET, SOCK_STREAM, 0), -1);
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_rclose(end));
	CHECK_EQUAL(fcntl(end, F_GETFD), -1);
	CHECK_EQUAL(softverbs_rclose(end), -1);
	CHECK_EQUAL(errno, EBADF);
}

int main(void)
{
	int ends[2], status;
	char byte;
	pid_t child;

	alarm(TEST_SECONDS);
	rs_pair(ends);
	child = fork();
	if (!child) {
		alarm(5);
		use_in_child(ends[0]);
		_exit(0);
	}
	CHECK(child > 0);
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 1);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of a fork gives the device's descriptors up once: those that it opens itself, under the same numbers, are
 * there in its own children.
 */
#include "softdev_fixture.h"

#include <fcntl.h>

enum { DESCRIPTORS = 128 };

static void expect_open(const int *fds)
{
	for (int i = 0; i < DESCRIPTORS; i++)
		CHECK(fcntl(fds[i], F_GETFD) >= 0);
}

static void run_child(void)
{
	int fds[DESCRIPTORS];
	pid_t child;

	for (int i = 0; i < DESCRIPTORS; i++)
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	expect_open(fds);
	child = test_fork();
	if (!child) {
		expect_open(fds);
		_exit(0);
	}
	test_join(child);
	expect_open(fds);
}

int main(void)
{
	struct pair pair;
	pid_t child;

	alarm(TEST_SECONDS);
	open_pair(&pair, NULL, NULL);
	child = test_fork();
	if (!child) {
		run_child();
		_exit(0);
	}
	test_join(child);
	close_pair(&pair);
}

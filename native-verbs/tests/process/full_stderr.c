/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stderr is a pipe that nobody reads: the device goes on, what it has to say is lost, and the first message that finds room
 * again tells how many were.
 */
#define _GNU_SOURCE
#include "softdev_fixture.h"

#include <fcntl.h>

enum { FAILURES = 3, FULL = 64 << 10, PIECE = 512 };

static void fill(int fd)
{
	static const char piece[PIECE];
	int flags = fcntl(fd, F_GETFL);

	CHECK(!fcntl(fd, F_SETFL, flags | O_NONBLOCK));
	while (write(fd, piece, PIECE) > 0)
		;
	CHECK(!fcntl(fd, F_SETFL, flags));
}

static void drain(int fd)
{
	static char bytes[FULL];

	while (test_readable(fd, 0))
		CHECK(read(fd, bytes, sizeof(bytes)) > 0);
}

/* Both ends have something to say about it, on the progress thread. */
static void failToRead(void)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){0});
	read_and_expect(&pair.a, 1, pair.local, 64, 4096, 7, IBV_WC_REM_ACCESS_ERR);
	close_pair(&pair);
}

static void tellsWhatWasLost(int fd)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	char text[FULL] = "";
	size_t used = 0;

	while (!strstr(text, "messages before were lost")) {
		CHECK(test_now_ms() < deadline && used < sizeof(text) - 1);
		if (test_readable(fd, 100))
			used += read(fd, text + used, sizeof(text) - 1 - used);
		else
			failToRead();
	}
}

int main(void)
{
	int ends[2], ours = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_LOG", "debug", 1);
	CHECK(ours >= 0 && !pipe2(ends, O_CLOEXEC));
	CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	fill(ends[1]);
	for (int i = 0; i < FAILURES; i++)
		failToRead();
	drain(ends[0]);
	failToRead();
	tellsWhatWasLost(ends[0]);
	CHECK(dup2(ours, STDERR_FILENO) == STDERR_FILENO);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that a test kills at random moments, one after the other: their maker is the peer of the test. */
#ifndef SHUFFLE_RDMA_TEST_VICTIMS_H
#define SHUFFLE_RDMA_TEST_VICTIMS_H

#include "random.h"

/* What a victim does until it is killed; the test names the kind, and the victim speaks to it over `fd`. */
static void (*victim_life)(int fd, char kind);

/* Makes a victim whenever it is asked to, and tells when it is dead. Nobody but the victims uses the device here. */
static inline void make_victims(int fd)
{
	char message[256];

	while (test_readable(fd, TEST_SECONDS * 1000) && read(fd, message, 1) == 1) {
		int status;
		pid_t pid = test_fork();

		if (!pid) {
			victim_life(fd, message[0]);
			test_fail(__FILE__, __LINE__, "a victim lives until it is killed");
		}
		CHECK_EQUAL(waitpid(pid, &status, 0), pid);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		while (recv(fd, message, sizeof(message), MSG_DONTWAIT) > 0)
			; /* what it did not live to take */
		test_signal(fd);
	}
}

static inline struct test_peer start_maker_of_victims(void (*life)(int fd, char kind))
{
	victim_life = life;
	return test_start_peer(make_victims);
}

/* The next victim says what it is: `greeting`, `length` bytes. test_await() is due when it has been killed. */
static inline void make_victim(int fd, char kind, void *greeting, size_t length)
{
	test_send(fd, &kind, 1);
	test_receive(fd, greeting, length);
}

/* SOFTVERBS_TEST_ROUNDS=N makes the test long; its time and its random numbers begin now. */
static inline int begin_rounds(int usual)
{
	const char *count = getenv("SOFTVERBS_TEST_ROUNDS");
	int rounds = count ? atoi(count) : usual;

	alarm(TEST_SECONDS + rounds);
	random_start();
	return rounds;
}

#endif

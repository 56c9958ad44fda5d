/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads on the two ends of one rsocket, each sending or receiving: both streams arrive whole and in order, and no thread misses what another has taken in. */
#include <pthread.h>

#include "rsocket_fixture.h"

/* Who is not woken up sleeps for a second: without that a round takes a few hundredths of one, also where the machine is busy. */
enum { STREAM_BYTES = 3 << 20, STEP = 40001, ROUNDS = 8, SLEEP_MS = 1000 };

static char pattern_at(size_t offset)
{
	return (char)(offset * 2654435761u >> 13);
}

static void *send_all(void *argument)
{
	static __thread char chunk[STEP];
	int fd = *(int *)argument;

	for (size_t done = 0; done < STREAM_BYTES;) {
		size_t length = STREAM_BYTES - done < STEP ? STREAM_BYTES - done : STEP;

		for (size_t i = 0; i < length; i++)
			chunk[i] = pattern_at(done + i);
		CHECK_EQUAL(softverbs_rsend(fd, chunk, length, 0), length);
		done += length;
	}
	CHECK(!softverbs_rshutdown(fd, SHUT_WR));
	return NULL;
}

static void *receive_all(void *argument)
{
	static __thread char chunk[STEP + 17];
	int fd = *(int *)argument;
	size_t done = 0;
	ssize_t part;

	while ((part = softverbs_rrecv(fd, chunk, sizeof(chunk), 0)) > 0) {
		for (ssize_t i = 0; i < part; i++)
			CHECK_EQUAL(chunk[i], pattern_at(done + (size_t)i));
		done += (size_t)part;
	}
	CHECK_EQUAL(part, 0);
	CHECK_EQUAL(done, STREAM_BYTES);
	return NULL;
}

static void both_ways_at_once(void)
{
	pthread_t threads[4];
	int ends[2];

	rs_pair(ends);
	for (int i = 0; i < 2; i++) {
		CHECK(!pthread_create(&threads[2 * i], NULL, send_all, &ends[i]));
		CHECK(!pthread_create(&threads[2 * i + 1], NULL, receive_all, &ends[i]));
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), -1);
	CHECK_EQUAL(errno, EPIPE);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

int main(void)
{
	int slow = 0;

	alarm(TEST_SECONDS);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start = test_now_ms();

		both_ways_at_once();
		slow += test_now_ms() - start >= SLEEP_MS;
	}
	/* Nearly all were. */
	CHECK(slow <= ROUNDS / 2);
	return 0;
}

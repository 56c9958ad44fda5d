/* SPDX-License-Identifier: Apache-2.0 */
/* A cancelled thread ends in its wait for an rsocket, alone or beside others, and the rsocket serves the others as before. */
#include <pthread.h>

#include "rsocket_fixture.h"

enum { CHUNK = 4 << 20, CHUNKS_NEVER_READ = 100 };

static void *receive(void *argument)
{
	char bytes[16];

	CHECK_EQUAL(softverbs_rrecv(*(int *)argument, bytes, 1, 0), 1);
	return NULL;
}

static void *transmit(void *argument)
{
	static char chunk[CHUNK];

	for (int i = 0; i < CHUNKS_NEVER_READ; i++)
		softverbs_rsend(*(int *)argument, chunk, sizeof(chunk), 0);
	return NULL;
}

static void *wait_with_rpoll(void *argument)
{
	rs_events(*(int *)argument, POLLIN, -1);
	return NULL;
}

/* It ends although nothing comes. */
static void cancel(pthread_t thread)
{
	void *result;

	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, &result));
	CHECK(result == PTHREAD_CANCELED);
}

static pthread_t start(void *(*wait)(void *), int *end)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, wait, end));
	test_sleep_ms(50); /* until it waits, or nearly always */
	return thread;
}

static void one_that_waits(void *(*wait)(void *))
{
	struct linger at_once = {.l_onoff = 1};
	char byte;
	int ends[2];

	rs_pair(ends);
	cancel(start(wait, &ends[0]));
	CHECK_EQUAL(softverbs_rsend(ends[1], "x", 1, 0), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[0], &byte, 1, 0), 1);
	CHECK(!softverbs_rsetsockopt(ends[0], SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

/* The first sleeps, the others wait for it; whichever is cancelled, those left are woken up. */
static void one_of_three(int which)
{
	pthread_t threads[3];
	int ends[2];

	rs_pair(ends);
	for (int i = 0; i < 3; i++)
		threads[i] = start(i == 1 ? wait_with_rpoll : receive, &ends[0]);
	cancel(threads[which]);
	CHECK_EQUAL(softverbs_rsend(ends[1], "xy", 2, 0), 2);
	for (int i = 0; i < 3; i++)
		if (i != which)
			CHECK(!pthread_join(threads[i], NULL));
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

int main(void)
{
	alarm(TEST_SECONDS);
	one_that_waits(receive);
	one_that_waits(transmit);
	one_that_waits(wait_with_rpoll);
	for (int which = 0; which < 3; which++)
		one_of_three(which);
	return 0;
}

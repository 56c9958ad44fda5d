/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads wait on one channel and are disturbed by signals, while ids go with events that nobody has read: no wake-up is lost. */
#include "cm_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WAITERS = 4, MAKERS = 2, EVENTS = 2000 };

static struct rdma_event_channel *channel;
static atomic_int seen;
static pthread_t waiters[WAITERS];

static void ignore(int number)
{
	(void)number;
}

static void *wait_for_events(void *unused)
{
	struct rdma_cm_event *event;
	void *last = NULL;

	(void)unused;
	while (!last) {
		if (softverbs_rdma_get_cm_event(channel, &event)) {
			CHECK_EQUAL(errno, EINTR);
			continue;
		}
		last = event->id->context;
		atomic_fetch_add(&seen, !last);
		CHECK(!softverbs_rdma_ack_cm_event(event));
	}
	return NULL;
}

/* Each with an id of its own; with a context it is the last event of a waiter. */
static struct rdma_cm_id *make_event(void *context)
{
	struct rdma_cm_id *id;

	CHECK(!softverbs_rdma_create_id(channel, &id, context, RDMA_PS_TCP));
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	return id;
}

static void *make_events(void *unused)
{
	struct rdma_cm_id *ids[8];
	int wanted;

	(void)unused;
	for (int i = 0; i < EVENTS / 8; i++) {
		for (int j = 0; j < 8; j++)
			ids[j] = make_event(NULL);
		CHECK(!pthread_kill(waiters[i % WAITERS], SIGUSR1));
		wanted = atomic_load(&seen) + 1;
		for (int wait = 0; wait < 2 && atomic_load(&seen) < wanted; wait++)
			test_sleep_ms(1);
		for (int j = 0; j < 8; j++)
			CHECK(!softverbs_rdma_destroy_id(ids[j])); /* takes back what nobody has read yet */
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_handler = ignore};
	struct rdma_cm_id *ids[WAITERS];
	pthread_t makers[MAKERS];

	alarm(TEST_SECONDS);
	CHECK(!sigaction(SIGUSR1, &action, NULL));
	channel = cm_channel_open();
	for (int i = 0; i < WAITERS; i++)
		CHECK(!pthread_create(&waiters[i], NULL, wait_for_events, NULL));
	for (int i = 0; i < MAKERS; i++)
		CHECK(!pthread_create(&makers[i], NULL, make_events, NULL));
	for (int i = 0; i < MAKERS; i++)
		CHECK(!pthread_join(makers[i], NULL));
	for (int i = 0; i < WAITERS; i++)
		ids[i] = make_event(channel);
	for (int i = 0; i < WAITERS; i++)
		CHECK(!pthread_join(waiters[i], NULL));
	for (int i = 0; i < WAITERS; i++)
		CHECK(!softverbs_rdma_destroy_id(ids[i]));
	CHECK(atomic_load(&seen) > 0);
	CHECK(!test_readable(channel->fd, 0));
	softverbs_rdma_destroy_event_channel(channel);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal during the wait for an event, of rdma_cm or of a completion channel: EINTR if its handler was installed without
 * SA_RESTART; otherwise the wait goes on, as it does in the kernel, and brings the event.
 */
#include "cm_fixture.h"
#include "sleeper.h"
#include "softdev_fixture.h"

#include <pthread.h>

static pthread_t waiter;
static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void handle(int flags)
{
	struct sigaction action = {.sa_handler = count_signal, .sa_flags = flags};

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	signals = 0;
}

/* Disturbs the wait, and lets it go on. */
static void *interrupt(void *unused)
{
	(void)unused;
	await_sleep(getpid());
	CHECK(!pthread_kill(waiter, SIGUSR1));
	while (!signals)
		test_sleep_ms(1);
	return NULL;
}

static void *interrupt_and_resolve(void *id)
{
	interrupt(NULL);
	await_sleep(getpid());
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	return NULL;
}

static void cm_events(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_cm_event *event;
	pthread_t other;

	handle(0);
	CHECK(!pthread_create(&other, NULL, interrupt, NULL));
	CHECK_FAILS(softverbs_rdma_get_cm_event(channel, &event), EINTR);
	CHECK(!pthread_join(other, NULL));
	handle(SA_RESTART);
	CHECK(!pthread_create(&other, NULL, interrupt_and_resolve, id));
	CHECK_EQUAL(softverbs_rdma_get_cm_event(channel, &event), 0);
	CHECK_EQUAL(signals, 1);
	CHECK_EQUAL(event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(!pthread_join(other, NULL));
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(channel);
}

static void *interrupt_and_complete(void *pair)
{
	interrupt(NULL);
	await_sleep(getpid());
	pair_post(pair, IBV_WR_SEND, 1, 8);
	return NULL;
}

static void completions(void)
{
	struct ibv_cq *cq;
	struct pair pair;
	pthread_t other;
	void *context;

	open_pair_as(&pair, &(struct pair_setup){0});
	pair_receive(&pair, 2, 8);
	CHECK_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
	handle(SA_RESTART);
	CHECK(!pthread_create(&other, NULL, interrupt_and_complete, &pair));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(pair.b.channel, &cq, &context), 0);
	CHECK_EQUAL(signals, 1);
	CHECK(cq == pair.b.cq);
	softverbs_ibv_ack_cq_events(cq, 1);
	CHECK(!pthread_join(other, NULL));
	close_pair(&pair);
}

int main(void)
{
	alarm(TEST_SECONDS);
	waiter = pthread_self();
	cm_events();
	completions();
}

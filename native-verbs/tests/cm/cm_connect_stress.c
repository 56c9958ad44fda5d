/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that connect, break off and destroy ids at any moment, against one listener of the same process: every
 * connect ends in an event, and nothing is left of it.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "cm_fixture.h"

enum { CLIENTS = 3, ROUNDS = 200 };

static uint16_t port;
static atomic_int established;
static atomic_bool done;

static void connect_once(struct rdma_event_channel *channel, int round)
{
	struct rdma_conn_param param = cm_param("stress", 6);
	struct rdma_cm_id *id = cm_id_open(channel);
	enum rdma_cm_event_type type;

	cm_prepare(id, CM_LOOPBACK, port);
	CHECK(!softverbs_rdma_connect(id, &param));
	if (round % 4) { /* every fourth goes away without waiting for an answer */
		type = cm_next(channel, &id);
		CHECK(type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_REJECTED);
		if (type == RDMA_CM_EVENT_ESTABLISHED)
			atomic_fetch_add(&established, 1);
		if (type == RDMA_CM_EVENT_ESTABLISHED && round % 4 == 1)
			CHECK(!softverbs_rdma_disconnect(id));
	}
	cm_close(id);
}

static void *run_client(void *unused)
{
	struct rdma_event_channel *channel = cm_channel_open();

	(void)unused;
	for (int round = 0; round < ROUNDS; round++)
		connect_once(channel, round);
	CHECK(!test_readable(channel->fd, 0));
	softverbs_rdma_destroy_event_channel(channel);
	return NULL;
}

/* Each second request is refused; an accepted id goes with the first event that says it is over. */
static void serve_event(struct rdma_event_channel *channel, int *requests, int *accepted)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *id;
	enum rdma_cm_event_type type = cm_next(channel, &id);

	if (type == RDMA_CM_EVENT_ESTABLISHED || type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		return;
	if (type != RDMA_CM_EVENT_CONNECT_REQUEST) {
		(*accepted)--;
		cm_close(id);
		return;
	}
	if ((*requests)++ % 2) {
		softverbs_rdma_reject(id, NULL, 0); /* or its client has already gone */
		CHECK(!softverbs_rdma_destroy_id(id));
		return;
	}
	cm_add_qp(id);
	if (softverbs_rdma_accept(id, &param)) {
		CHECK_EQUAL(errno, EINVAL);
		cm_close(id);
		return;
	}
	(*accepted)++;
}

static void *run_server(void *channel)
{
	int requests = 0, accepted = 0;
	uint64_t deadline = test_now_ms() + TEST_SECONDS * 1000;

	while (!atomic_load(&done) || accepted) {
		CHECK(test_now_ms() < deadline);
		if (test_readable(((struct rdma_event_channel *)channel)->fd, 20))
			serve_event(channel, &requests, &accepted);
	}
	return NULL;
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener;
	pthread_t server, clients[CLIENTS];

	alarm(2 * TEST_SECONDS);
	listener = cm_listen_on(channel, CM_LOOPBACK, 64, &port);
	CHECK(!pthread_create(&server, NULL, run_server, channel));
	for (int i = 0; i < CLIENTS; i++)
		CHECK(!pthread_create(&clients[i], NULL, run_client, NULL));
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	atomic_store(&done, true);
	pthread_join(server, NULL);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
	CHECK(atomic_load(&established) > 0);
	cm_expect_nothing_left();
}

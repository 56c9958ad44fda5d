/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_destroy_id takes back events that nobody has read (a request among them is refused) and waits for those
 * that were read until they are acknowledged.
 */
#include <pthread.h>

#include "cm_fixture.h"

static void client(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id;
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	id = cm_ask(channel, "127.0.0.1", port);
	cm_take(channel, RDMA_CM_EVENT_REJECTED);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

static void *acknowledge_later(void *event)
{
	test_sleep_ms(200);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return NULL;
}

static void destroy_waits_for_the_acknowledgement(struct rdma_event_channel *channel)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", htons(4000));
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_cm_event *event;
	uint64_t start;
	pthread_t thread;

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
	event = cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	start = test_now_ms();
	CHECK(!pthread_create(&thread, NULL, acknowledge_later, event));
	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(test_now_ms() - start >= 190);
	pthread_join(thread, NULL);
}

static void unread_events_vanish(struct rdma_event_channel *channel)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", htons(4000));
	struct rdma_cm_id *id = cm_id_open(channel);

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
	CHECK(test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!test_readable(channel->fd, 0));
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 8, &port);
	test_send(peer.fd, &port, sizeof(port));
	CHECK(test_readable(channel->fd, EVENT_WAIT_MS));
	CHECK(!softverbs_rdma_destroy_id(listener));
	CHECK(!test_readable(channel->fd, 0));
	test_join_peer(&peer);
	destroy_waits_for_the_acknowledgement(channel);
	unread_events_vanish(channel);
	softverbs_rdma_destroy_event_channel(channel);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event channels: O_NONBLOCK gives EAGAIN, the descriptor is readable per event. Migration takes events along in
 * their order, and with a request its id; it waits for the acknowledgement of what was read before. A thread that
 * waits on a channel that is destroyed goes on waiting.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cm_fixture.h"

static void request_address(struct rdma_cm_id *id)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", htons(4000));

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
}

static void *acknowledge_later(void *event)
{
	test_sleep_ms(200);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return NULL;
}

/* ADDR_RESOLVED is read and not acknowledged, ROUTE_RESOLVED waits; the old channel goes at once. */
static void migration_waits_for_acknowledgements(void)
{
	struct rdma_event_channel *old = cm_channel_open(), *new = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(old);
	struct rdma_cm_event *event;
	uint64_t start;
	pthread_t thread;

	request_address(id);
	event = cm_expect(old, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	start = test_now_ms();
	CHECK(!pthread_create(&thread, NULL, acknowledge_later, event));
	CHECK(!softverbs_rdma_migrate_id(id, new));
	CHECK(test_now_ms() - start >= 190);
	softverbs_rdma_destroy_event_channel(old);
	pthread_join(thread, NULL);
	cm_take(new, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(new);
}

static void client(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id;
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	id = cm_connect_to(channel, "127.0.0.1", port);
	test_await(fd);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

/* Two events of one id are read in their order, a request on the listener's new channel brings an id of that channel. */
static void migration_keeps_order_and_requests(struct test_peer *peer)
{
	struct rdma_event_channel *old = cm_channel_open(), *new = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *id;
	uint16_t port;

	id = cm_id_open(old);
	request_address(id);
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	CHECK(!softverbs_rdma_migrate_id(id, new));
	cm_take(new, RDMA_CM_EVENT_ADDR_RESOLVED);
	cm_take(new, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!softverbs_rdma_destroy_id(id));

	listener = cm_listen_on(old, "127.0.0.1", 8, &port);
	test_send(peer->fd, &port, sizeof(port));
	CHECK(test_readable(old->fd, EVENT_WAIT_MS));
	CHECK(!softverbs_rdma_migrate_id(listener, new));
	softverbs_rdma_destroy_event_channel(old);
	id = cm_take_request(new, NULL);
	CHECK(id->channel == new);
	CHECK(!softverbs_rdma_accept(id, &param));
	cm_take(new, RDMA_CM_EVENT_ESTABLISHED);
	test_signal(peer->fd);
	cm_take(new, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);
	test_join_peer(peer);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(new);
}

static atomic_bool returned;

static void *wait_for_ever(void *channel)
{
	struct rdma_cm_event *event;

	softverbs_rdma_get_cm_event(channel, &event);
	atomic_store(&returned, true);
	return NULL;
}

/* As rping does it: its thread would take an error for the end of the program. */
static void a_waiter_outlives_its_channel(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	pthread_t waiter;

	CHECK(!pthread_create(&waiter, NULL, wait_for_ever, channel));
	CHECK(!pthread_detach(waiter));
	test_sleep_ms(50);
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(channel);
	test_sleep_ms(50);
	CHECK(!atomic_load(&returned));
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_event_channel *other = cm_channel_open();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *second;

	CHECK(!test_readable(channel->fd, 0));
	CHECK(!fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_EQUAL(softverbs_rdma_get_cm_event(channel, &event), -1);
	CHECK_EQUAL(errno, EAGAIN);

	id = cm_id_open(channel);
	second = cm_id_open(channel);
	request_address(id);
	request_address(second);
	CHECK(test_readable(channel->fd, 0));
	event = cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(event->id == id);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(test_readable(channel->fd, 0));

	CHECK(!softverbs_rdma_migrate_id(second, other));
	CHECK(second->channel == other);
	CHECK(!test_readable(channel->fd, 0));
	event = cm_expect(other, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(event->id == second);
	CHECK(!softverbs_rdma_ack_cm_event(event));

	CHECK_EQUAL(softverbs_rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), -1);
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!strcmp(softverbs_rdma_event_str(RDMA_CM_EVENT_REJECTED), "RDMA_CM_EVENT_REJECTED"));
	CHECK(!strcmp(softverbs_rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT"));

	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!softverbs_rdma_destroy_id(second));
	softverbs_rdma_destroy_event_channel(channel);
	softverbs_rdma_destroy_event_channel(other);
	migration_waits_for_acknowledgements();
	migration_keeps_order_and_requests(&peer);
	a_waiter_outlives_its_channel();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event channels: O_NONBLOCK gives EAGAIN, the descriptor is readable per event. Migration takes events along in
 * their order, and with a request its id. A thread that waits on a channel that is destroyed goes on waiting.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "cm_fixture.h"
#include "sleeper.h"

static void client(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_connect_to(channel, CM_LOOPBACK, port);

	test_await(fd);
	cm_close_all(channel, id);
}

/* Two events of one id are read in their order, a request on the listener's new channel brings an id of that channel. */
static void migration_keeps_order_and_requests(struct test_peer *peer)
{
	struct rdma_event_channel *old = cm_channel_open(), *new = cm_channel_open();
	struct rdma_cm_id *listener, *id = cm_id_open(old);

	cm_request_address(id, CM_LOOPBACK, htons(4000));
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	CHECK(!softverbs_rdma_migrate_id(id, new));
	cm_take(new, RDMA_CM_EVENT_ADDR_RESOLVED);
	cm_take(new, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!softverbs_rdma_destroy_id(id));

	listener = cm_listen_for(peer->fd, old, 8);
	CHECK(test_readable(old->fd, EVENT_WAIT_MS));
	CHECK(!softverbs_rdma_migrate_id(listener, new));
	softverbs_rdma_destroy_event_channel(old);
	id = cm_take_request(new, NULL);
	CHECK(id->channel == new);
	cm_accept(id);
	cm_take(new, RDMA_CM_EVENT_ESTABLISHED);
	test_signal(peer->fd);
	cm_take(new, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);
	test_join_peer(peer);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(new);
}

static _Atomic pid_t waiting;
static atomic_bool returned;

static void *wait_for_ever(void *channel)
{
	struct rdma_cm_event *event;

	atomic_store(&waiting, gettid());
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
	while (!atomic_load(&waiting))
		test_sleep_ms(1);
	await_sleep(atomic_load(&waiting));
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(channel);
	test_sleep_ms(50);
	CHECK(!atomic_load(&returned));
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open(), *other = cm_channel_open();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id, *second;

	CHECK(!test_readable(channel->fd, 0));
	CHECK(!fcntl(channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_FAILS(softverbs_rdma_get_cm_event(channel, &event), EAGAIN);

	id = cm_id_open(channel);
	second = cm_id_open(channel);
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	cm_request_address(second, CM_LOOPBACK, htons(4000));
	CHECK(test_readable(channel->fd, 0));
	CHECK(cm_take_id(channel, RDMA_CM_EVENT_ADDR_RESOLVED) == id);
	CHECK(test_readable(channel->fd, 0));

	CHECK(!softverbs_rdma_migrate_id(second, other));
	CHECK(second->channel == other);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(cm_take_id(other, RDMA_CM_EVENT_ADDR_RESOLVED) == second);

	CHECK_FAILS(softverbs_rdma_create_id(channel, &id, NULL, (enum rdma_port_space)7), EINVAL);
	CHECK(!strcmp(softverbs_rdma_event_str(RDMA_CM_EVENT_REJECTED), "RDMA_CM_EVENT_REJECTED"));
	CHECK(!strcmp(softverbs_rdma_event_str((enum rdma_cm_event_type)99), "UNKNOWN EVENT"));

	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!softverbs_rdma_destroy_id(second));
	softverbs_rdma_destroy_event_channel(channel);
	softverbs_rdma_destroy_event_channel(other);
	migration_keeps_order_and_requests(&peer);
	a_waiter_outlives_its_channel();
}

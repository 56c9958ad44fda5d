/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_destroy_id and rdma_migrate_id wait until the events that were read are acknowledged. What nobody has read goes with the
 * id that is destroyed (a request among it is refused), and along with the id that moves, in order.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "cm_fixture.h"
#include "sleeper.h"

static void client(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();

	cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_REJECTED);
	softverbs_rdma_destroy_event_channel(channel);
}

static atomic_bool acknowledged;

/* Once the main thread waits. */
static void *acknowledge_late(void *event)
{
	await_sleep(getpid());
	atomic_store(&acknowledged, true);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return NULL;
}

/* A new id; of its events the first, ADDR_RESOLVED, is read and acknowledged by a thread. */
static struct rdma_cm_id *id_with_late_acknowledgement(struct rdma_event_channel *channel, pthread_t *thread)
{
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_cm_event *event;

	cm_request_address(id, CM_LOOPBACK, htons(4000));
	event = cm_expect(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	atomic_store(&acknowledged, false);
	CHECK(!pthread_create(thread, NULL, acknowledge_late, event));
	return id;
}

static void expect_acknowledged(pthread_t thread)
{
	CHECK(atomic_load(&acknowledged));
	CHECK(!pthread_join(thread, NULL));
}

static void destruction_waits(struct rdma_event_channel *channel)
{
	pthread_t thread;
	struct rdma_cm_id *id = id_with_late_acknowledgement(channel, &thread);

	CHECK(!softverbs_rdma_destroy_id(id));
	expect_acknowledged(thread);
	CHECK(!test_readable(channel->fd, 0));
}

/* ROUTE_RESOLVED waits; the old channel goes at once. */
static void migration_waits(void)
{
	struct rdma_event_channel *old = cm_channel_open(), *new = cm_channel_open();
	pthread_t thread;
	struct rdma_cm_id *id = id_with_late_acknowledgement(old, &thread);

	CHECK(!softverbs_rdma_migrate_id(id, new));
	expect_acknowledged(thread);
	softverbs_rdma_destroy_event_channel(old);
	cm_take(new, RDMA_CM_EVENT_ROUTE_RESOLVED);
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(new);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener = cm_listen_for(peer.fd, channel, 8), *id;

	CHECK(test_readable(channel->fd, EVENT_WAIT_MS));
	CHECK(!softverbs_rdma_destroy_id(listener));
	CHECK(!test_readable(channel->fd, 0));
	test_join_peer(&peer);

	id = cm_id_open(channel);
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	CHECK(test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!test_readable(channel->fd, 0));

	destruction_waits(channel);
	migration_waits();
	softverbs_rdma_destroy_event_channel(channel);
}

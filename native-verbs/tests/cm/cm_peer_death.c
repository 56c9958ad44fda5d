/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that is killed: DISCONNECTED at once, in every phase of a connection the event that ends it. */
#include "cm_fixture.h"

enum { SOON_MS = 1000 };

/* The peers; each waits in its phase until it is killed. */

static void connect_and_stay(int fd)
{
	uint16_t port = cm_receive_port(fd);

	cm_connect_to(cm_channel_open(), CM_LOOPBACK, port);
	test_rendezvous(fd);
}

static void connect_without_waiting(int fd)
{
	uint16_t port = cm_receive_port(fd);

	cm_ask(cm_channel_open(), CM_LOOPBACK, port);
	test_await(fd);
}

static void connect_and_await_answer(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_cm_id *id = cm_ask(cm_channel_open(), CM_LOOPBACK, port);

	CHECK(test_readable(id->channel->fd, EVENT_WAIT_MS)); /* the answer */
	test_rendezvous(fd);
}

static void listen_without_answer(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();

	cm_listen_for(fd, channel, 1);
	cm_take_request(channel, NULL);
	test_rendezvous(fd);
}

static struct rdma_event_channel *channel;

/* A killed peer shows by that event, at once; its status. */
static int kill_and_take(struct test_peer *peer, enum rdma_cm_event_type type)
{
	uint64_t start = test_now_ms();
	int status;

	test_kill_peer(peer);
	status = cm_take(channel, type);
	CHECK(test_now_ms() - start < SOON_MS);
	return status;
}

static void killed_while_connected(struct test_peer *peer)
{
	struct rdma_cm_id *listener = cm_listen_for(peer->fd, channel, 1), *id = cm_accept_from(channel);

	test_await(peer->fd);
	kill_and_take(peer, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(!softverbs_rdma_disconnect(id));
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);
	cm_close(listener);
}

static void killed_before_accept(struct test_peer *peer)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener = cm_listen_for(peer->fd, channel, 1), *id = cm_take_request(channel, NULL);

	kill_and_take(peer, RDMA_CM_EVENT_REJECTED);
	CHECK_FAILS(softverbs_rdma_accept(id, &param), EINVAL);
	cm_close(id);
	cm_close(listener);
}

/* The queue pair that was ready for the connection ends with it. */
static void killed_after_accept(struct test_peer *peer, bool stopped)
{
	struct rdma_cm_id *listener = cm_listen_for(peer->fd, channel, 1), *id = cm_take_request(channel, NULL);

	if (stopped) /* then the answer is not even taken from the socket */
		CHECK(!kill(peer->pid, SIGSTOP));
	cm_accept(id);
	if (!stopped)
		test_await(peer->fd);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
	CHECK_EQUAL(kill_and_take(peer, RDMA_CM_EVENT_REJECTED), 28);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_ERR);
	cm_close(id);
	cm_close(listener);
}

static void killed_before_answer(struct test_peer *peer)
{
	struct rdma_cm_id *id = cm_ask(channel, CM_LOOPBACK, cm_receive_port(peer->fd));

	test_await(peer->fd);
	kill_and_take(peer, RDMA_CM_EVENT_REJECTED);
	cm_close(id);
}

int main(void)
{
	struct test_peer connected = test_start_peer(connect_and_stay);
	struct test_peer connecting = test_start_peer(connect_without_waiting);
	struct test_peer accepted = test_start_peer(connect_and_await_answer);
	struct test_peer stopped = test_start_peer(connect_and_await_answer);
	struct test_peer answering = test_start_peer(listen_without_answer);

	channel = cm_channel_open();
	killed_while_connected(&connected);
	killed_before_accept(&connecting);
	killed_after_accept(&accepted, false);
	killed_after_accept(&stopped, true);
	killed_before_answer(&answering);
	CHECK(!test_readable(channel->fd, 0));
	softverbs_rdma_destroy_event_channel(channel);
}

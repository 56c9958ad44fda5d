/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that is killed: DISCONNECTED at once, in every phase of a connection the event that ends it. */
#include "cm_fixture.h"

enum { SOON_MS = 1000 };

static void connect_and_stay(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	cm_connect_to(channel, "127.0.0.1", port);
	test_signal(fd);
	test_await(fd);
}

static void connect_without_waiting(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	cm_ask(channel, "127.0.0.1", port);
	test_await(fd);
}

static void connect_and_await_answer(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	cm_ask(channel, "127.0.0.1", port);
	CHECK(test_readable(channel->fd, EVENT_WAIT_MS)); /* the answer */
	test_signal(fd);
	test_await(fd);
}

static void listen_without_answer(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;

	cm_listen_on(channel, "127.0.0.1", 1, &port);
	test_send(fd, &port, sizeof(port));
	cm_take_request(channel, NULL);
	test_signal(fd);
	test_await(fd);
}

static void killed_while_connected(struct test_peer *peer)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener, *id;
	uint64_t start;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	test_send(peer->fd, &port, sizeof(port));
	id = cm_accept_from(channel);
	test_await(peer->fd);
	start = test_now_ms();
	test_kill_peer(peer);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(test_now_ms() - start < SOON_MS);
	CHECK(!softverbs_rdma_disconnect(id));
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

static void killed_before_accept(struct test_peer *peer)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *id;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	test_send(peer->fd, &port, sizeof(port));
	id = cm_take_request(channel, NULL);
	test_kill_peer(peer);
	cm_take(channel, RDMA_CM_EVENT_REJECTED);
	CHECK_EQUAL(softverbs_rdma_accept(id, &param), -1);
	CHECK_EQUAL(errno, EINVAL);
	cm_close(id);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

/* The queue pair that was ready for the connection ends with it. */
static void killed_after_accept(struct test_peer *peer, bool stopped)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *id;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	test_send(peer->fd, &port, sizeof(port));
	id = cm_take_request(channel, NULL);
	if (stopped) /* then the answer is not even taken from the socket */
		CHECK(!kill(peer->pid, SIGSTOP));
	CHECK(!softverbs_rdma_accept(id, &param));
	if (!stopped)
		test_await(peer->fd);
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	test_kill_peer(peer);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_REJECTED), 28);
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_ERR);
	cm_close(id);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

static void killed_before_answer(struct test_peer *peer)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id;
	uint64_t start;
	uint16_t port;

	test_receive(peer->fd, &port, sizeof(port));
	id = cm_ask(channel, "127.0.0.1", port);
	test_await(peer->fd);
	start = test_now_ms();
	test_kill_peer(peer);
	cm_take(channel, RDMA_CM_EVENT_REJECTED);
	CHECK(test_now_ms() - start < SOON_MS);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer connected = test_start_peer(connect_and_stay);
	struct test_peer connecting = test_start_peer(connect_without_waiting);
	struct test_peer accepted = test_start_peer(connect_and_await_answer);
	struct test_peer stopped = test_start_peer(connect_and_await_answer);
	struct test_peer answering = test_start_peer(listen_without_answer);

	killed_while_connected(&connected);
	killed_before_accept(&connecting);
	killed_after_accept(&accepted, false);
	killed_after_accept(&stopped, true);
	killed_before_answer(&answering);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of a connection is killed at a random moment of its life, whichever end it is: the one that stays gets
 * an event that ends it, in bounded time, and everything can be given back. SOFTVERBS_TEST_ROUNDS=N makes it long,
 * SOFTVERBS_TEST_SEED=N repeats a run.
 */
#include "cm_fixture.h"
#include "victims.h"

enum { ROUNDS = 40, SPREAD_US = 5000, LIMIT_MS = 12000 };

/* What a peer says when it is there. */
struct greeting {
	pid_t pid;
	uint16_t port; /* that it listens on */
};

/* Accepts whoever comes, and forgets them. */
static _Noreturn void serve(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct greeting greeting = {.pid = getpid()};

	cm_listen_on(channel, CM_LOOPBACK, 8, &greeting.port);
	test_send(fd, &greeting, sizeof(greeting));
	for (;;) {
		struct rdma_cm_id *id;

		CHECK(test_readable(channel->fd, TEST_SECONDS * 1000));
		if (cm_next(channel, &id) == RDMA_CM_EVENT_CONNECT_REQUEST) {
			cm_add_qp(id);
			softverbs_rdma_accept(id, &param);
		}
	}
}

static _Noreturn void connect_and_wait(int fd)
{
	struct greeting greeting = {.pid = getpid()};
	uint16_t port;

	test_send(fd, &greeting, sizeof(greeting));
	port = cm_receive_port(fd);
	cm_connect_to(cm_channel_open(), CM_LOOPBACK, port);
	for (;;)
		pause();
}

static void live(int fd, char kind)
{
	if (kind == 's')
		serve(fd);
	connect_and_wait(fd);
}

struct peer {
	pid_t pid;
	uint64_t dies_us;
	bool dead;
};

static void kill_when_due(struct peer *peer)
{
	if (!peer->dead && test_now_us() >= peer->dies_us) {
		CHECK(!kill(peer->pid, SIGKILL));
		peer->dead = true;
	}
}

/* The next event and its id; the peer dies meanwhile when its time has come. */
static enum rdma_cm_event_type next_event(struct rdma_event_channel *channel, struct peer *peer, uint64_t deadline,
					  struct rdma_cm_id **id)
{
	while (!test_readable(channel->fd, peer->dead ? 50 : 0)) {
		kill_when_due(peer);
		CHECK(test_now_ms() < deadline);
	}
	kill_when_due(peer);
	return cm_next(channel, id);
}

static bool is_end(enum rdma_cm_event_type type)
{
	return type == RDMA_CM_EVENT_DISCONNECTED || type == RDMA_CM_EVENT_REJECTED ||
	       type == RDMA_CM_EVENT_UNREACHABLE || type == RDMA_CM_EVENT_CONNECT_ERROR ||
	       type == RDMA_CM_EVENT_ADDR_ERROR || type == RDMA_CM_EVENT_ROUTE_ERROR;
}

static struct peer doomed(pid_t pid)
{
	return (struct peer){.pid = pid, .dies_us = test_now_us() + next_random(SPREAD_US)};
}

/* It listens, this end connects. */
static void connect_to_the_dying(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	uint64_t deadline = test_now_ms() + LIMIT_MS;
	struct greeting greeting;
	bool ended = false;
	struct peer peer;

	make_victim(fd, 's', &greeting, sizeof(greeting));
	peer = doomed(greeting.pid);
	cm_request_address(id, CM_LOOPBACK, greeting.port);
	while (!ended) {
		enum rdma_cm_event_type type = next_event(channel, &peer, deadline, &id);

		ended = is_end(type);
		if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
			CHECK(!softverbs_rdma_resolve_route(id, 1000));
		} else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
			cm_add_qp(id);
			cm_connect(id);
		} else {
			CHECK(ended || type == RDMA_CM_EVENT_ESTABLISHED);
		}
	}
	CHECK(peer.dead);
	test_await(fd);
	cm_close_all(channel, id);
}

/* It connects, this end listens. It may have died before anything of it was to be seen. */
static void accept_the_dying(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *id = NULL;
	uint64_t deadline = test_now_ms() + LIMIT_MS;
	struct greeting greeting;
	bool ended = false;
	struct peer peer;

	make_victim(fd, 'c', &greeting, sizeof(greeting));
	listener = cm_listen_for(fd, channel, 8);
	peer = doomed(greeting.pid);
	while (!ended) {
		struct rdma_cm_id *its;
		enum rdma_cm_event_type type;

		if (!id && peer.dead && !test_readable(channel->fd, 100))
			break;
		if (!id && !test_readable(channel->fd, 0)) {
			kill_when_due(&peer);
			continue;
		}
		type = next_event(channel, &peer, deadline, &its);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			id = its;
			cm_add_qp(id);
			if (softverbs_rdma_accept(id, &param))
				CHECK(errno == EINVAL || errno == EPIPE || errno == ECONNRESET);
			continue;
		}
		CHECK(its == id);
		ended = is_end(type);
		CHECK(ended || type == RDMA_CM_EVENT_ESTABLISHED);
	}
	CHECK(peer.dead);
	test_await(fd);
	if (id)
		cm_close(id);
	cm_close_all(channel, listener);
}

int main(void)
{
	struct test_peer maker = start_maker_of_victims(live);

	for (int i = begin_rounds(ROUNDS); i > 0; i--) {
		if (i % 2)
			connect_to_the_dying(maker.fd);
		else
			accept_the_dying(maker.fd);
	}
	cm_expect_nothing_left();
}

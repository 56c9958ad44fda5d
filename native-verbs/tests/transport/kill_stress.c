/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer is killed, or stopped, or stopped and continued, at a random moment: while it connects, serves READs, WRITEs and
 * SENDs, waits for receives, or is served itself. Every request completes within the retry time: right, or as
 * RETRY_EXC_ERR with all behind it flushed; a peer that continues in time costs nothing.
 * SOFTVERBS_TEST_ROUNDS=N (of each path) makes it long, SOFTVERBS_TEST_SEED=N repeats a run.
 */
#include "offer.h"
#include "victims.h"

enum { BYTES = 1 << 20, REQUESTS = 16, ROUNDS = 6, LIMIT_MS = 12000, SPREAD_US = 6000 };

enum action { KILL, STOP, STOP_AND_CONTINUE };

/* What a peer says when it is there. */
struct presence {
	struct offer offer;
	pid_t pid;
};

/* Serves, and asks as well, until its end. */
static void live(int fd, char kind)
{
	struct side side;
	struct region *region, *mine;
	struct presence own;
	struct offer other;

	(void)kind;
	open_side(&side, 256, 64);
	region = add_region(&side, BYTES, ALL_REMOTE);
	mine = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	fill_pattern(region->bytes, BYTES, 1);
	own = (struct presence){offer_of(&side, region), getpid()};
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &other, sizeof(other));
	connect_side(&side, &other.address, NULL);
	for (uint64_t posted = 0, received = 0;;) {
		struct ibv_wc wc;

		for (; received < 32; received++)
			CHECK_EQUAL(post_receive(side.qp, 100, sge_of(mine, BYTES / 2, 8)), 0);
		for (; posted < 4; posted++)
			CHECK_EQUAL(post(side.qp, posted & 1 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 1,
					 sge_of(mine, 0, BYTES / 2), other.addr, other.rkey),
				    0);
		if (ibv_poll_cq(side.cq, 1, &wc) != 1)
			usleep(100);
		else if (wc.wr_id == 1)
			posted--;
		else
			received--;
	}
}

struct round {
	enum action action;
	int requests;
	struct {
		enum ibv_wr_opcode opcode;
		uint32_t length;
	} request[REQUESTS];
};

static struct round random_round(enum action action)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND};
	struct round round = {.action = action, .requests = 1 + next_random(REQUESTS)};

	for (int i = 0; i < round.requests; i++) {
		round.request[i].opcode = opcodes[next_random(3)];
		round.request[i].length = round.request[i].opcode == IBV_WR_SEND ? next_random(9)
					  : next_random(2)			 ? next_random(BYTES / 2)
										 : next_random(64);
	}
	return round;
}

static void post_round(struct side *side, const struct offer *peer, const struct round *round)
{
	for (int i = 0; i < round->requests; i++) {
		struct ibv_sge sge = sge_of(&side->regions[i], 0, round->request[i].length);
		enum ibv_wr_opcode opcode = round->request[i].opcode;
		uint64_t offset = opcode == IBV_WR_RDMA_WRITE ? BYTES / 2 : 64; /* where no READ looks */

		memset(side->regions[i].bytes, 0, BYTES / 2);
		CHECK_EQUAL(post(side->qp, opcode, i, sge, peer->addr + offset, peer->rkey), 0);
	}
}

static void expect_round(struct side *side, const uint8_t *expected, const struct round *round)
{
	bool failed = false;

	for (int i = 0; i < round->requests; i++) {
		struct ibv_wc wc = wait_completion(side->cq);

		CHECK_EQUAL(wc.wr_id, i);
		if (failed) {
			CHECK_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		} else if (wc.status == IBV_WC_SUCCESS) {
			if (round->request[i].opcode == IBV_WR_RDMA_READ)
				CHECK(!memcmp(side->regions[i].bytes, expected + 64, round->request[i].length));
		} else {
			CHECK_EQUAL(wc.status, IBV_WC_RETRY_EXC_ERR);
			CHECK(round->action != STOP_AND_CONTINUE);
			failed = true;
		}
	}
	if (failed)
		expect_state(side->qp, IBV_QPS_ERR);
	expect_no_completion(side->cq);
	CHECK(!test_readable(side->context->async_fd, 0));
}

static void play(int fd, struct side *side, const uint8_t *expected, const struct round *round)
{
	/* 8.6 s: on a busy host it may have been stopped before it was ready. */
	static const struct connection patient = {.timeout = 18, .retry_count = 7};
	struct presence peer;
	struct offer own;
	uint64_t start;

	move_qp(side->qp, IBV_QPS_RESET);
	make_victim(fd, 'p', &peer, sizeof(peer));
	own = offer_of(side, &side->regions[REQUESTS]);
	test_send(fd, &own, sizeof(own));
	if (next_random(4))
		usleep(next_random(SPREAD_US)); /* otherwise it may have gone before it was ready */
	connect_side(side, &peer.offer.address, round->action == STOP_AND_CONTINUE ? &patient : NULL);
	if (next_random(2)) {
		usleep(next_random(SPREAD_US));
		post_round(side, &peer.offer, round);
		usleep(next_random(SPREAD_US));
		CHECK(!kill(peer.pid, round->action == KILL ? SIGKILL : SIGSTOP));
	} else {
		CHECK(!kill(peer.pid, round->action == KILL ? SIGKILL : SIGSTOP));
		post_round(side, &peer.offer, round);
	}
	start = test_now_ms();
	if (round->action == STOP_AND_CONTINUE) {
		usleep(next_random(300000));
		CHECK(!kill(peer.pid, SIGCONT));
	}
	expect_round(side, expected, round);
	CHECK(test_now_ms() - start < LIMIT_MS);
	kill(peer.pid, SIGKILL);
	test_await(fd);
}

static void body(void)
{
	struct test_peer maker = start_maker_of_victims(live);
	int rounds = begin_rounds(ROUNDS);
	uint8_t *expected = malloc(BYTES);
	struct side side;

	CHECK(expected);
	fill_pattern(expected, BYTES, 1);
	open_side(&side, 256, 64);
	for (int i = 0; i <= REQUESTS; i++) /* a sink for each request, and the region that the peer uses */
		add_region(&side, BYTES, ALL_REMOTE);
	for (int i = 0; i < rounds; i++) {
		struct round round = random_round(i % 20 == 0	    ? STOP
						  : next_random(3) ? KILL
								   : STOP_AND_CONTINUE);

		play(maker.fd, &side, expected, &round);
	}
	free(expected);
	close_side(&side);
	check_no_leaks();
	close(maker.fd);
}

MAIN(on_all_paths, body)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small READs posted one by one before the application looks for a completion: they come in order with their bytes
 * when it polls, by an event when it asked or asks for one, and without any further call too.
 */
#include "softdev_fixture.h"

enum { BURST = 60, BLOCK = 700, BYTES = BURST * BLOCK, NONE = -1 };

static void post_one(struct pair *pair, int i, unsigned int send_flags, uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = i,
				 .opcode = IBV_WR_RDMA_READ,
				 .send_flags = send_flags,
				 .wr.rdma = {(uintptr_t)pair->remote->bytes + i * BLOCK, rkey}};

	/* A queue pair that is in error meanwhile takes and flushes it. */
	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, i * BLOCK, BLOCK)), 0);
}

/* A case whose pair has its connection before the burst. */
#define BURST_CASE(name)                                                                           \
	static void name##_connected(struct pair *pair);                                           \
	PAIR_CASE(name, .bytes = BYTES)                                                            \
	{                                                                                          \
		connect_and_fill(pair);                                                            \
		name##_connected(pair);                                                            \
	}                                                                                          \
	static void name##_connected(struct pair *pair)

static void connect_and_fill(struct pair *pair)
{
	fill_pattern(pair->remote->bytes, BYTES, 5);
	pair_run(pair, IBV_WR_RDMA_READ, 99, 1, IBV_WC_SUCCESS);
}

/* READ i brings block i; `wrong` is one with a wrong rkey. */
static void post_burst(struct pair *pair, unsigned int send_flags, int wrong)
{
	for (int i = 0; i < BURST; i++)
		post_one(pair, i, send_flags, pair->remote->mr->rkey + (i == wrong));
}

static void expect_bytes(struct pair *pair, int blocks)
{
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, (size_t)blocks * BLOCK));
}

BURST_CASE(comesWhenPolled)
{
	post_burst(pair, IBV_SEND_SIGNALED, NONE);
	expect_completions(pair->a.cq, 0, BURST - 1, IBV_WC_SUCCESS);
	expect_bytes(pair, BURST);
}

CASE(comesWithoutAnyCall)
{
	for (int i = 0; i < 12; i++) {
		struct pair pair;

		open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
		connect_and_fill(&pair);
		post_burst(&pair, 0, NONE);
		AWAIT(!memcmp(pair.local->bytes, pair.remote->bytes, BYTES));
		close_pair(&pair);
	}
}

/* Asks for an event and takes the completions that are there already, which make none; returns the next one's wr_id. */
static int ask_and_poll(struct side *side, int next)
{
	struct ibv_wc wc;

	CHECK_EQUAL(ibv_req_notify_cq(side->cq, 0), 0);
	for (; ibv_poll_cq(side->cq, 1, &wc); next++) {
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.wr_id, next);
	}
	return next;
}

static void expect_events_until_the_end(struct pair *pair, int next)
{
	while (next < BURST) {
		CHECK(take_cq_event(pair->a.channel) == pair->a.cq);
		next = ask_and_poll(&pair->a, next);
	}
	expect_bytes(pair, BURST);
}

BURST_CASE(raisesTheEventAskedForBefore)
{
	CHECK_EQUAL(ibv_req_notify_cq(pair->a.cq, 0), 0);
	post_burst(pair, IBV_SEND_SIGNALED, NONE);
	expect_events_until_the_end(pair, 0);
}

BURST_CASE(raisesTheEventAskedForAfter)
{
	post_burst(pair, IBV_SEND_SIGNALED, NONE);
	expect_events_until_the_end(pair, ask_and_poll(&pair->a, 0));
}

static void expect_first_failure_at(struct pair *pair, int wrong)
{
	post_burst(pair, IBV_SEND_SIGNALED, wrong);
	expect_completions(pair->a.cq, 0, wrong - 1, IBV_WC_SUCCESS);
	expect_completion(pair->a.cq, wrong, IBV_WC_REM_ACCESS_ERR);
	expect_completions(pair->a.cq, wrong + 1, BURST - 1, IBV_WC_WR_FLUSH_ERR);
	expect_bytes(pair, wrong);
}

BURST_CASE(keepsTheCauseOfAnEarlyFailure)
{
	expect_first_failure_at(pair, 1);
}

BURST_CASE(keepsTheCauseOfALateFailure)
{
	expect_first_failure_at(pair, 40);
}

BURST_CASE(flushesWhatWaits)
{
	bool flushing = false;

	post_burst(pair, IBV_SEND_SIGNALED, NONE);
	move_qp(pair->a.qp, IBV_QPS_ERR);
	for (int i = 0; i < BURST; i++) {
		struct ibv_wc wc = wait_completion(pair->a.cq);

		CHECK_EQUAL(wc.wr_id, i);
		flushing |= wc.status != IBV_WC_SUCCESS;
		CHECK_EQUAL(wc.status, flushing ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	}
}

BURST_CASE(goesWithTheQueuePair)
{
	post_burst(pair, IBV_SEND_SIGNALED, NONE);
}

MAIN(on_each_path, run_cases)

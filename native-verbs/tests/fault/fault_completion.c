/* SPDX-License-Identifier: Apache-2.0 */
/* Completions that never come, come late with those behind them, come twice, or find the queue full. */
#include "fault_fixture.h"

static void isLost(struct pair *pair)
{
	expect_good_read(pair, 1);
	pair_post(pair, IBV_WR_RDMA_READ, 2, 64);
	pair_run(pair, IBV_WR_RDMA_READ, 3, 64, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
}

static void isLateAndKeepsTheOrder(struct pair *pair)
{
	uint64_t start = test_now_ms();

	pair_post(pair, IBV_WR_RDMA_READ, 1, 64);
	pair_post(pair, IBV_WR_RDMA_READ, 2, 64);
	expect_no_completion(pair->a.cq);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 290);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	expect_good_read(pair, 3);
}

/* What is held belongs to the queue pair: nothing of it comes when that is gone. */
static void isForgottenWithItsQueuePair(struct pair *pair)
{
	pair_post(pair, IBV_WR_RDMA_READ, 1, 64);
	move_qp(pair->a.qp, IBV_QPS_RESET);
	expect_silence(pair->a.cq, 400);
}

static void comesTwice(struct pair *pair)
{
	expect_good_read(pair, 1);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 64, IBV_WC_SUCCESS);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	expect_good_read(pair, 3);
}

static void overrunsTheQueue(struct pair *pair)
{
	pair_post(pair, IBV_WR_RDMA_READ, 1, 64);
	expect_async(&pair->a, IBV_EVENT_CQ_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

/* The flush of a queue pair in error is swallowed. */
static void flushNeverArrives(struct pair *pair)
{
	expect_good_read(pair, 1);
	CHECK_EQUAL(post_receive(pair->a.qp, 2, sge_of(pair->local, 0, 8)), 0);
	move_qp(pair->a.qp, IBV_QPS_ERR);
	expect_silence(pair->a.cq, 50);
}

static void receiveIsLost(struct pair *pair)
{
	pair_receive(pair, 1, 64);
	pair_receive(pair, 2, 64);
	pair_post(pair, IBV_WR_SEND, 3, 64);
	pair_post(pair, IBV_WR_SEND, 4, 64);
	expect_completions(pair->a.cq, 3, 4, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 2, IBV_WC_SUCCESS);
	expect_no_completion(pair->b.cq);
}

static const struct fault_case cases[] = {
	{"completion:drop,nth=2", .between = isLost},
	{"completion:drop,opcode=READ,nth=2", .between = isLost, .path = "wire"},
	{"completion:delay=300", .between = isLateAndKeepsTheOrder},
	{"completion:delay=300", .between = isForgottenWithItsQueuePair},
	{"completion:duplicate,nth=2", .between = comesTwice},
	{"completion:duplicate,delay=20,nth=2", .between = comesTwice, .path = "wire"},
	{"completion:overrun", .between = overrunsTheQueue},
	{"completion:drop,result=WR_FLUSH_ERR,count=all", .between = flushNeverArrives},
	{"completion:drop,opcode=RECV", .between = receiveIsLost},
};

FAULT_MAIN(cases)

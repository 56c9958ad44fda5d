/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair that is moved to ERR flushes everything posted, in order, and what is posted later; its peer is not told,
 * and finds out as RETRY_EXC_ERR by its own next request.
 */
#include "softdev_fixture.h"

enum { COUNT = 8 };

#define QUICK {.timeout = 10, .retry_count = 1}

PAIR_CASE(body, .b = QUICK)
{
	struct side *b = &pair->b;

	/* Nothing is received at `a`, so all but the first of them are still to be sent when it fails. */
	for (int i = 0; i < COUNT; i++)
		CHECK_EQUAL(post(b->qp, IBV_WR_SEND, i, sge_of(pair->remote, 0, 8), 0, 0), 0);
	test_sleep_ms(10);
	move_qp(b->qp, IBV_QPS_ERR);
	/* It has returned: no completion is still to come. */
	expect_completions(b->cq, 0, COUNT - 1, IBV_WC_WR_FLUSH_ERR);
	for (int i = 0; i < COUNT; i++)
		pair_receive(pair, 10 + i, 8);
	expect_completions(b->cq, 10, 10 + COUNT - 1, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
	expect_no_completion(pair->a.cq);
	CHECK(!test_readable(pair->a.context->async_fd, 20));
	CHECK(!test_readable(b->context->async_fd, 0));
}

PAIR_CASE(peerFindsOut, .a = QUICK)
{
	pair_run(pair, IBV_WR_RDMA_READ, 1, 8, IBV_WC_SUCCESS);
	move_qp(pair->b.qp, IBV_QPS_ERR);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 8, IBV_WC_RETRY_EXC_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

MAIN(on_each_path, run_cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A completion for which its queue has no room: CQ_ERR, then QP_FATAL and ERR of every queue pair of that queue. What the
 * queue held can still be polled; the other end is not told.
 */
#include "softdev_fixture.h"

enum { ROOM = 2 };

static void body(void)
{
	struct pair pair;

	open_side(&pair.a, ROOM, 16);
	open_side(&pair.b, 16, 16);
	connect_sides(&pair.a, &pair.b, NULL, NULL);
	pair.local = add_region(&pair.a, 4096, ALL_REMOTE);
	pair.remote = add_region(&pair.b, 4096, ALL_REMOTE);
	for (int i = 0; i < ROOM + 2; i++)
		pair_post(&pair, IBV_WR_RDMA_READ, i, 8);
	expect_async(&pair.a, IBV_EVENT_CQ_ERR);
	expect_async(&pair.a, IBV_EVENT_QP_FATAL);
	expect_state(pair.a.qp, IBV_QPS_ERR);
	expect_completions(pair.a.cq, 0, ROOM - 1, IBV_WC_SUCCESS);
	expect_silence(pair.a.cq, 10);
	CHECK(!test_readable(pair.a.context->async_fd, 0));
	CHECK_EQUAL(state_of(pair.b.qp), IBV_QPS_RTS);
	CHECK(!test_readable(pair.b.context->async_fd, 0));
	close_pair(&pair);
}

MAIN(on_each_path, body)

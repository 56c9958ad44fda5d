/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first request that reaches a queue pair in RTR, whichever it is, raises IBV_EVENT_COMM_EST there, once; in RTS there
 * is nothing to tell. A READ that goes a short way does not reach it.
 */
#include "softdev_fixture.h"

static bool reaches_the_responder(enum ibv_wr_opcode opcode)
{
	return opcode != IBV_WR_RDMA_READ || test_path_is_wire() || test_device();
}

/* The pair is connected anew, `b` up to that state. */
static void expect_first_request_told(struct pair *pair, enum ibv_wr_opcode opcode, enum ibv_qp_state state_of_b)
{
	static const struct connection usual;
	struct address to_a = address_of(&pair->a), to_b = address_of(&pair->b);
	bool told = state_of_b == IBV_QPS_RTR && reaches_the_responder(opcode);

	move_qp(pair->b.qp, IBV_QPS_RESET);
	to_init(pair->b.qp, ALL_REMOTE);
	to_rtr(pair->b.qp, &to_a, &usual);
	if (state_of_b == IBV_QPS_RTS)
		to_rts(pair->b.qp, &usual);
	reconnect_side(&pair->a, &to_b, NULL);
	pair_receive(pair, 7, 64);
	CHECK(!test_readable(pair->b.context->async_fd, 20));
	pair_run(pair, opcode, 0, 64, IBV_WC_SUCCESS);
	if (told)
		expect_async(&pair->b, IBV_EVENT_COMM_EST);
	CHECK(!test_readable(pair->b.context->async_fd, 0));
	pair_run(pair, IBV_WR_RDMA_READ, 1, 64, IBV_WC_SUCCESS);
	CHECK(!test_readable(pair->b.context->async_fd, 0));
	CHECK(!test_readable(pair->a.context->async_fd, 0));
}

PAIR_CASE(firstReadIsTold)
{
	expect_first_request_told(pair, IBV_WR_RDMA_READ, IBV_QPS_RTR);
}

PAIR_CASE(firstWriteIsTold)
{
	expect_first_request_told(pair, IBV_WR_RDMA_WRITE, IBV_QPS_RTR);
}

PAIR_CASE(firstSendIsTold)
{
	expect_first_request_told(pair, IBV_WR_SEND, IBV_QPS_RTR);
}

PAIR_CASE(nothingIsToldInRts)
{
	expect_first_request_told(pair, IBV_WR_RDMA_READ, IBV_QPS_RTS);
}

MAIN(on_each_path, run_cases)

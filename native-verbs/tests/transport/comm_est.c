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

static void first_request(enum ibv_wr_opcode opcode, bool in_rtr)
{
	static const struct connection usual;
	struct address to_a, to_b;
	struct region local, remote;
	struct pair pair;

	open_side(&pair.a, 16, 16);
	open_side(&pair.b, 16, 16);
	local = create_region(pair.a.pd, 4096, ALL_REMOTE);
	remote = create_region(pair.b.pd, 4096, ALL_REMOTE);
	to_a = address_of(&pair.a);
	to_b = address_of(&pair.b);
	to_init(pair.b.qp, ALL_REMOTE);
	to_rtr(pair.b.qp, &to_a, &usual);
	if (!in_rtr)
		to_rts(pair.b.qp, &usual);
	connect_side(&pair.a, &to_b, NULL);
	CHECK_EQUAL(post_receive(pair.b.qp, 7, sge_of(&remote, 0, 64)), 0);
	test_sleep_ms(20);
	CHECK(!test_readable(pair.b.context->async_fd, 0));
	for (int i = 0; i < 2; i++) {
		enum ibv_wr_opcode next = i ? IBV_WR_RDMA_READ : opcode;

		CHECK_EQUAL(post(pair.a.qp, next, i, sge_of(&local, 0, 64), (uintptr_t)remote.bytes, remote.mr->rkey),
			    0);
		expect_completion(pair.a.cq, i, IBV_WC_SUCCESS);
		if (!i && in_rtr && reaches_the_responder(opcode))
			expect_async(&pair.b, IBV_EVENT_COMM_EST);
		CHECK(!test_readable(pair.b.context->async_fd, 0));
	}
	CHECK(!test_readable(pair.a.context->async_fd, 0));
	destroy_region(&local);
	destroy_region(&remote);
	close_pair(&pair);
}

CASE(firstReadIsTold)
{
	first_request(IBV_WR_RDMA_READ, true);
}

CASE(firstWriteIsTold)
{
	first_request(IBV_WR_RDMA_WRITE, true);
}

CASE(firstSendIsTold)
{
	first_request(IBV_WR_SEND, true);
}

CASE(nothingIsToldInRts)
{
	first_request(IBV_WR_RDMA_READ, false);
}

int main(void)
{
	on_each_path(run_cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between two processes, with megabytes on their way behind the request that fails: its cause arrives all the same, though the
 * responder reads no further.
 */
#include "offer.h"

enum { BYTES = 1 << 20, BEFORE = 3, BEHIND = 12, ROUNDS = 25 };

static void serve(int fd)
{
	struct side side;
	struct region *region;
	struct address remote;

	open_side(&side, 64, 32);
	region = add_region(&side, BYTES, ALL_REMOTE);
	for (int i = 0; i < ROUNDS; i++) {
		struct offer offer = offer_of(&side, region);
		bool with_imm = i % 3 == 2;

		test_receive(fd, &remote, sizeof(remote));
		reconnect_side(&side, &remote, NULL);
		for (int j = 0; j < 2; j++)
			CHECK_EQUAL(post_receive(side.qp, j, sge_of(region, 0, 8)), 0);
		test_send(fd, &offer, sizeof(offer));
		expect_completion(side.cq, 0, with_imm ? IBV_WC_LOC_ACCESS_ERR : IBV_WC_WR_FLUSH_ERR);
		expect_completion(side.cq, 1, IBV_WC_WR_FLUSH_ERR);
		if (!with_imm)
			expect_async(&side, IBV_EVENT_QP_ACCESS_ERR);
		CHECK(!test_readable(side.context->async_fd, 0));
	}
	test_await(fd);
	close_side(&side);
}

static void play(int fd, struct side *side, struct region *region, int round)
{
	static const enum ibv_wr_opcode failing[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE_WITH_IMM};
	struct offer offer;

	move_qp(side->qp, IBV_QPS_RESET);
	offer = accept_offer(fd, side, NULL);
	for (int i = 0; i < BEFORE + 1 + BEHIND; i++) {
		enum ibv_wr_opcode opcode = i == BEFORE ? failing[round % 3] : IBV_WR_RDMA_WRITE;
		uint32_t length = i < BEFORE ? 65536 : i == BEFORE ? 100000 : 300000;

		CHECK_EQUAL(post(side->qp, opcode, i, sge_of(region, 0, length), offer.addr,
				 offer.rkey ^ (i == BEFORE ? 0x10 : 0)),
			    0);
	}
	expect_completions(side->cq, 0, BEFORE - 1, IBV_WC_SUCCESS);
	expect_completion(side->cq, BEFORE, IBV_WC_REM_ACCESS_ERR);
	expect_completions(side->cq, BEFORE + 1, BEFORE + BEHIND, IBV_WC_WR_FLUSH_ERR);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region *region;
	struct side side;

	open_side(&side, 64, 32);
	region = add_region(&side, BYTES, ALL_REMOTE);
	for (int i = 0; i < ROUNDS; i++)
		play(peer.fd, &side, region, i);
	test_finish_peer(&peer);
	close_side(&side);
}

MAIN(on_each_path, body)

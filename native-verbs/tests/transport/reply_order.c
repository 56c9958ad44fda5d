/* SPDX-License-Identifier: Apache-2.0 */
/* A SEND completes before the reply to it is received: who has the reply has the slot of the request back. */
#include "offer.h"

enum { ROUNDS = 4000 };

static void post_message(struct side *side)
{
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge_of(&side->regions[0], 0, 8), 0, 0), 0);
}

static void expect_next(struct side *side, enum ibv_wc_opcode opcode)
{
	CHECK_EQUAL(wait_completion(side->cq).opcode, opcode);
}

static void post_place(struct side *side)
{
	CHECK_EQUAL(post_receive(side->qp, 0, sge_of(&side->regions[0], 64, 8)), 0);
}

/* A side that can receive one message. */
static void open_end(int fd, struct side *side)
{
	open_side(side, 16, 2);
	add_region(side, 4096, ALL_REMOTE);
	connect_over(fd, side, NULL);
	post_place(side);
}

static void serve(int fd)
{
	struct side side;

	open_end(fd, &side);
	test_signal(fd);
	for (int i = 0; i < ROUNDS; i++) {
		if (i)
			expect_next(&side, IBV_WC_SEND);
		expect_next(&side, IBV_WC_RECV);
		post_place(&side);
		post_message(&side);
	}
	test_await(fd);
	close_side(&side);
}

int main(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct side side;

	open_end(peer.fd, &side);
	test_await(peer.fd);
	for (int i = 0; i < ROUNDS; i++) {
		post_message(&side);
		expect_next(&side, IBV_WC_SEND);
		expect_next(&side, IBV_WC_RECV);
		post_place(&side);
	}
	close_side(&side);
	test_finish_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ends its queue pair right after its last message, without waiting for the completion, has sent it: by an
 * error state of its own making (as rdma_disconnect does), by a reset, or by destroying it.
 */
#include "softdev_fixture.h"

enum { ROUNDS = 10 };

static void post_message(struct ibv_qp *qp, unsigned int flags)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE | flags};

	CHECK_EQUAL(post_wr(qp, wr, (struct ibv_sge){(uintptr_t)"good-bye", 8, 0}), 0);
}

static void expect_arrival_before(enum ibv_qp_state state)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){.bytes = 4096});
	for (int i = 1; i <= 2; i++)
		pair_receive(&pair, i, 64);
	post_message(pair.a.qp, IBV_SEND_SIGNALED);
	expect_completion(pair.a.cq, 0, IBV_WC_SUCCESS);
	expect_completion(pair.b.cq, 1, IBV_WC_SUCCESS);
	memset(pair.remote->bytes, 0, 64);
	post_message(pair.a.qp, 0);
	if (state == IBV_QPS_UNKNOWN) {
		CHECK_EQUAL(softverbs_ibv_destroy_qp(pair.a.qp), 0);
		pair.a.qp = create_qp(&pair.a, 1);
	} else {
		move_qp(pair.a.qp, state);
	}
	expect_completion(pair.b.cq, 2, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair.remote->bytes, "good-bye", 8));
	close_pair(&pair);
}

static void body(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		expect_arrival_before(IBV_QPS_ERR);
		expect_arrival_before(IBV_QPS_RESET);
		expect_arrival_before(IBV_QPS_UNKNOWN); /* destroyed */
	}
}

MAIN(on_each_link, body)

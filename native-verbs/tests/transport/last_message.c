/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that ends its queue pair right after its last message, without waiting for the completion, has sent it: by an
 * error state of its own making (as rdma_disconnect does), by a reset, or by destroying it.
 */
#include "softdev_fixture.h"

enum { ROUNDS = 10 };

static void post_message(struct ibv_qp *qp, unsigned int flags)
{
	struct ibv_sge sge = {(uintptr_t)"good-bye", 8, 0};
	struct ibv_send_wr *bad, wr = {
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_INLINE | flags,
				 };

	CHECK_EQUAL(ibv_post_send(qp, &wr, &bad), 0);
}

static void end_by(struct side *side, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};

	if (state == IBV_QPS_UNKNOWN) {
		CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
		side->qp = create_qp(side, 1);
	} else {
		CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), 0);
	}
}

static void arrives(enum ibv_qp_state state)
{
	struct region sink;
	struct pair pair;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.b.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 1; i <= 2; i++)
		CHECK_EQUAL(post_receive(pair.b.qp, i, sge_of(&sink, 0, 64)), 0);
	post_message(pair.a.qp, IBV_SEND_SIGNALED);
	expect_completion(pair.a.cq, 0, IBV_WC_SUCCESS);
	expect_completion(pair.b.cq, 1, IBV_WC_SUCCESS);
	memset(sink.bytes, 0, 64);
	post_message(pair.a.qp, 0);
	end_by(&pair.a, state);
	expect_completion(pair.b.cq, 2, IBV_WC_SUCCESS);
	CHECK(!memcmp(sink.bytes, "good-bye", 8));
	destroy_region(&sink);
	close_pair(&pair);
}

static void body(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		arrives(IBV_QPS_ERR);
		arrives(IBV_QPS_RESET);
		arrives(IBV_QPS_UNKNOWN); /* destroyed */
	}
}

int main(void)
{
	on_each_link(body);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* IBV_SEND_FENCE: what is sent behind a READ or an atomic may be what that has brought. */
#include "softdev_fixture.h"

enum { BYTES = 1 << 20, ROUNDS = 30, WITH_ATOMICS = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC };

#define FENCE_CASE(name) \
	PAIR_CASE(name, .a.access = WITH_ATOMICS, .b.access = WITH_ATOMICS, .bytes = BYTES, .remote_access = WITH_ATOMICS)

/* Both in one call, so that the second is at hand while the first is under way. */
static void post_both(struct pair *pair, struct ibv_send_wr *first, const struct region *received, uint32_t length)
{
	struct ibv_sge sge = sge_of(pair->local, 0, length);
	struct ibv_send_wr *bad, send = {.wr_id = 2,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_SEND,
					 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE};

	first->wr_id = 1;
	first->sg_list = &sge;
	first->num_sge = 1;
	first->send_flags = IBV_SEND_SIGNALED;
	first->next = &send;
	CHECK_EQUAL(post_receive(pair->b.qp, 3, sge_of(received, 0, length)), 0);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, first, &bad), 0);
	expect_completions(pair->a.cq, 1, 2, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 3, IBV_WC_SUCCESS);
}

FENCE_CASE(sendBehindAReadSendsWhatWasRead)
{
	struct region *received = add_region(&pair->b, BYTES, IBV_ACCESS_LOCAL_WRITE);

	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_send_wr read = {
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma = {(uintptr_t)pair->remote->bytes, pair->remote->mr->rkey},
		};

		fill_pattern(pair->remote->bytes, BYTES, i);
		memset(pair->local->bytes, 0, BYTES);
		post_both(pair, &read, received, BYTES);
		CHECK(!memcmp(received->bytes, pair->remote->bytes, BYTES));
	}
}

FENCE_CASE(sendBehindAnAtomicSendsTheValueBefore)
{
	struct region *received = add_region(&pair->b, BYTES, IBV_ACCESS_LOCAL_WRITE);

	for (uint64_t i = 0; i < ROUNDS; i++) {
		struct ibv_send_wr add = {
			.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
			.wr.atomic = {(uintptr_t)pair->remote->bytes, 1, 0, pair->remote->mr->rkey},
		};
		uint64_t before;

		memset(pair->local->bytes, 0xff, 8);
		post_both(pair, &add, received, 8);
		memcpy(&before, received->bytes, 8);
		CHECK_EQUAL(before, i);
	}
}

MAIN(on_each_path, run_cases)

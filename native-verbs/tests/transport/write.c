/* SPDX-License-Identifier: Apache-2.0 */
/* WRITE is executed by the responder: bytes, immediate data, order with READ. error_* has its refusals. */
#include "softdev_fixture.h"

enum { BYTES = 3 << 20 };

PAIR_CASE(writeBringsBytes, .bytes = BYTES)
{
	pair_run(pair, IBV_WR_RDMA_WRITE, 1, BYTES, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, BYTES));
	expect_no_completion(pair->b.cq);
}

PAIR_CASE(readSeesTheWriteBeforeIt, .bytes = BYTES)
{
	struct region *back = add_region(&pair->a, BYTES, IBV_ACCESS_LOCAL_WRITE);

	pair_post(pair, IBV_WR_RDMA_WRITE, 1, BYTES);
	CHECK_EQUAL(post_read(pair->a.qp, 2, back, BYTES, (uintptr_t)pair->remote->bytes, pair->remote->mr->rkey), 0);
	expect_completions(pair->a.cq, 1, 2, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->local->bytes, back->bytes, BYTES));
}

PAIR_CASE(immediateDataTakesAReceiver)
{
	struct ibv_wc wc;

	pair_post(pair, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 100);
	test_sleep_ms(5); /* so that it comes before the receive */
	pair_receive(pair, 9, 0);
	wc = expect_completion(pair->b.cq, 9, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQUAL(wc.byte_len, 100);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, 100));
}

MAIN(on_each_path, run_cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair that is moved to ERR flushes everything posted, in order, and what is posted later; its peer is not told,
 * and finds out as RETRY_EXC_ERR by its own next request.
 */
#include "softdev_fixture.h"

enum { COUNT = 8 };

static void expect_flushed(struct side *side, uint64_t first)
{
	for (int i = 0; i < COUNT; i++)
		expect_completion(side->cq, first + i, IBV_WC_WR_FLUSH_ERR);
}

CASE(body)
{
	static const struct connection quick = {.timeout = 10, .retry_count = 1};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct region region;
	struct pair pair;

	open_pair(&pair, NULL, &quick);
	region = create_region(pair.b.pd, 4096, ALL_REMOTE);
	/* Nothing is received at `a`, so all but the first of them are still to be sent when it fails. */
	for (int i = 0; i < COUNT; i++)
		CHECK_EQUAL(post(pair.b.qp, IBV_WR_SEND, i, sge_of(&region, 0, 8), 0, 0), 0);
	test_sleep_ms(10);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair.b.qp, &error, IBV_QP_STATE), 0);
	/* modify_qp has returned: no completion is still to come. */
	expect_flushed(&pair.b, 0);
	for (int i = 0; i < COUNT; i++)
		CHECK_EQUAL(post_receive(pair.b.qp, 10 + i, sge_of(&region, 0, 8)), 0);
	expect_flushed(&pair.b, 10);
	CHECK_EQUAL(state_of(pair.a.qp), IBV_QPS_RTS);
	expect_no_completion(pair.a.cq);
	CHECK(!test_readable(pair.a.context->async_fd, 20));
	CHECK(!test_readable(pair.b.context->async_fd, 0));
	destroy_region(&region);
	close_pair(&pair);
}

CASE(peerFindsOut)
{
	static const struct connection quick = {.timeout = 10, .retry_count = 1};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct region sink, source;
	struct pair pair;

	open_pair(&pair, &quick, NULL);
	sink = create_region(pair.a.pd, 4096, ALL_REMOTE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair.b.qp, &error, IBV_QP_STATE), 0);
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_state(pair.a.qp, IBV_QPS_ERR);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

int main(void)
{
	on_each_path(run_cases);
}

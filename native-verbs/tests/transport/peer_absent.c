/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is not there, or not ready, is waited for as the timeout and the retries say, and no longer; and
 * one that becomes ready in time is served.
 */
#include "softdev_fixture.h"

CASE(absentPeerEndsAsRetryExceeded)
{
	static const struct connection quick = {.timeout = 12, .retry_count = 3}; /* 16.8 ms, 4 times */
	struct address nowhere;
	struct region sink;
	struct side side;
	uint64_t start;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	nowhere = address_of(&side);
	nowhere.qpn = 1 << 8; /* port 1 */
	connect_side(&side, &nowhere, &quick);
	start = test_now_ms();
	CHECK_EQUAL(post_read(side.qp, 1, &sink, 8, 4096, 1), 0);
	expect_completion(side.cq, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start >= 60);
	CHECK(test_now_ms() - start < 2000);
	destroy_region(&sink);
	close_side(&side);
	check_no_leaks();
}

CASE(withoutATimeoutItIsWaitedFor)
{
	static const struct connection patient = {.no_timeout = true, .retry_count = 1};
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct address nowhere;
	struct region sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	nowhere = address_of(&side);
	nowhere.qpn = 1 << 8;
	connect_side(&side, &nowhere, &patient);
	CHECK_EQUAL(post_read(side.qp, 1, &sink, 8, 4096, 1), 0);
	test_sleep_ms(400);
	expect_no_completion(side.cq);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &error, IBV_QP_STATE), 0);
	expect_completion(side.cq, 1, IBV_WC_WR_FLUSH_ERR);
	destroy_region(&sink);
	close_side(&side);
	check_no_leaks();
}

CASE(latePeerIsServed)
{
	static const struct connection usual;
	struct address to_a, to_b;
	struct region sink, source;
	struct pair pair;

	open_side(&pair.a, 16, 16);
	open_side(&pair.b, 16, 16);
	to_a = address_of(&pair.a);
	to_b = address_of(&pair.b);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	source.bytes[0] = 42;
	connect_side(&pair.a, &to_b, NULL);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	test_sleep_ms(100);
	expect_no_completion(pair.a.cq);
	to_init(pair.b.qp, ALL_REMOTE);
	to_rtr(pair.b.qp, &to_a, &usual);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink.bytes[0], 42);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

CASE(destroyedPeerEndsAsRetryExceeded)
{
	static const struct connection quick = {.timeout = 10, .retry_count = 2};
	struct region sink, source;
	struct pair pair;

	open_pair(&pair, &quick, NULL);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair.b.qp), 0);
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_RETRY_EXC_ERR);
	pair.b.qp = create_qp(&pair.b, 4);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

int main(void)
{
	on_all_paths(run_cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is not there, or not ready, is waited for as the timeout and the retries say, and no longer; and
 * one that becomes ready in time is served.
 */
#include "softdev_fixture.h"

/* Opens the side and READs from where nobody is; tells when. */
static uint64_t read_from_nowhere(struct side *side, const struct connection *how)
{
	struct address nowhere;
	uint64_t start;

	open_side(side, 16, 16);
	nowhere = address_of(side);
	nowhere.qpn = 1 << 8; /* port 1 */
	connect_side(side, &nowhere, how);
	add_region(side, 4096, IBV_ACCESS_LOCAL_WRITE);
	start = test_now_ms();
	CHECK_EQUAL(post_read(side->qp, 1, &side->regions[0], 8, 4096, 1), 0);
	return start;
}

CASE(absentPeerEndsAsRetryExceeded)
{
	static const struct connection quick = {.timeout = 12, .retry_count = 3}; /* 16.8 ms, 4 times */
	struct side side;
	uint64_t start = read_from_nowhere(&side, &quick);

	expect_completion(side.cq, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start >= 60);
	CHECK(test_now_ms() - start < 2000 * TEST_SLOWER);
	close_side(&side);
	check_no_leaks();
}

CASE(withoutATimeoutItIsWaitedFor)
{
	static const struct connection patient = {.no_timeout = true, .retry_count = 1};
	struct side side;

	read_from_nowhere(&side, &patient);
	expect_silence(side.cq, 400);
	move_qp(side.qp, IBV_QPS_ERR);
	expect_completion(side.cq, 1, IBV_WC_WR_FLUSH_ERR);
	close_side(&side);
	check_no_leaks();
}

PAIR_CASE(latePeerIsServed, .a = {.timeout = 16})
{
	static const struct connection usual;
	struct address to_a = address_of(&pair->a);

	move_qp(pair->b.qp, IBV_QPS_RESET);
	expect_silence(pair->a.cq, 50); /* a notices; what is posted before would be lost with the connection */
	pair->remote->bytes[0] = 42;
	pair_post(pair, IBV_WR_RDMA_READ, 1, 8);
	expect_silence(pair->a.cq, 100);
	to_init(pair->b.qp, ALL_REMOTE);
	to_rtr(pair->b.qp, &to_a, &usual);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[0], 42);
}

PAIR_CASE(destroyedPeerEndsAsRetryExceeded, .a = {.timeout = 16, .retry_count = 1})
{
	pair_run(pair, IBV_WR_RDMA_READ, 1, 8, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair->b.qp), 0);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 8, IBV_WC_RETRY_EXC_ERR);
	pair->b.qp = create_qp(&pair->b, 4);
}

MAIN(on_all_paths, run_cases)

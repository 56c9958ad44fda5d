/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is killed is noticed: READs end as RETRY_EXC_ERR long before the timeouts, and never succeed. They do not end at
 * once, so that a program sees first what a peer that has ended sent to it on other connections.
 */
#include "offer.h"

enum { BYTES = 1 << 20 };

static void serve(int fd)
{
	struct side side;
	struct region region;

	open_side(&side, 16, 16);
	region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	offer_region(fd, &side, &region, NULL);
	test_await(fd); /* killed here */
	test_fail(__FILE__, __LINE__, "the peer is killed");
}

static void body(void)
{
	/* 4.096 us << 20 = 4.3 s a try: the kill must not need a timeout. */
	static const struct connection slow = {.timeout = 20, .retry_count = 7};
	struct test_peer peer = test_start_peer(serve);
	uint64_t start, took;
	struct region sink;
	struct side side;
	struct offer offer;

	open_side(&side, 64, 32);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer.fd, &side, &slow);
	CHECK_EQUAL(post_read(side.qp, 1, &sink, BYTES, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 1, IBV_WC_SUCCESS);

	test_kill_peer(&peer);
	start = test_now_ms();
	CHECK_EQUAL(post_read(side.qp, 2, &sink, BYTES, offer.addr, offer.rkey), 0);
	CHECK_EQUAL(post_read(side.qp, 3, &sink, BYTES, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_completion(side.cq, 3, IBV_WC_WR_FLUSH_ERR);
	took = test_now_ms() - start;
	CHECK(took >= 99 && took < 1000);
	destroy_region(&sink);
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	on_each_path(body);
}

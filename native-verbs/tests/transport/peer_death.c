/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is killed is noticed: READs end as RETRY_EXC_ERR long before the timeouts, and never succeed. They do not end at
 * once, so that a program sees first what a peer that has ended sent to it on other connections.
 */
#include "offer.h"

enum { BYTES = 1 << 20 };

static void serve(int fd)
{
	serve_region(fd, BYTES);
}

static void body(void)
{
	/* 4.096 us << 20 = 4.3 s a try: the kill must not need a timeout. */
	static const struct connection slow = {.timeout = 20, .retry_count = 7};
	struct test_peer peer = test_start_peer(serve);
	uint64_t start, took;
	struct region *sink;
	struct side side;
	struct offer offer;

	open_side(&side, 64, 32);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer.fd, &side, &slow);
	read_and_expect(&side, 1, sink, BYTES, offer.addr, offer.rkey, IBV_WC_SUCCESS);
	test_kill_peer(&peer);
	start = test_now_ms();
	for (int i = 2; i <= 3; i++)
		CHECK_EQUAL(post_read(side.qp, i, sink, BYTES, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 2, IBV_WC_RETRY_EXC_ERR);
	expect_completion(side.cq, 3, IBV_WC_WR_FLUSH_ERR);
	took = test_now_ms() - start;
	CHECK(took >= 99 && took < 1000);
	close_side(&side);
	check_no_leaks();
}

MAIN(on_each_path, body)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a peer READs as fast as it can, regions are registered, deregistered and their memory is given
 * other contents: a READ brings the bytes of its region or is refused, and never the later contents.
 */
#include "offer.h"

enum { BYTES = 300000, ROUNDS = 150 };

static void serve(int fd)
{
	struct side side;

	open_side(&side, 16, 16);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct region region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);

		fill_pattern(region.bytes, BYTES, round);
		move_qp(side.qp, IBV_QPS_RESET);
		offer_region(fd, &side, &region, NULL);
		usleep(round % 7 * 300);
		CHECK_EQUAL(softverbs_ibv_dereg_mr(region.mr), 0);
		region.mr = NULL;
		if (region.fd < 0)
			memset(region.bytes, 0xee, BYTES);
		test_await(fd);
		destroy_region(&region);
	}
	close_side(&side);
	check_no_leaks();
}

static void read_until_refused(struct side *side, struct region *sink, const struct offer *offer,
			       const uint8_t *expected)
{
	struct ibv_wc wc;

	do {
		CHECK_EQUAL(post_read(side->qp, 1, sink, BYTES, offer->addr, offer->rkey), 0);
		wc = wait_completion(side->cq);
		if (wc.status == IBV_WC_SUCCESS)
			CHECK(!memcmp(sink->bytes, expected, BYTES));
	} while (wc.status == IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.status, IBV_WC_REM_ACCESS_ERR);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	uint8_t *expected = malloc(BYTES);
	struct region *sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct offer offer;

		move_qp(side.qp, IBV_QPS_RESET);
		offer = accept_offer(peer.fd, &side, NULL);
		fill_pattern(expected, BYTES, round);
		read_until_refused(&side, sink, &offer, expected);
		test_signal(peer.fd);
	}
	close_side(&side);
	check_no_leaks();
	test_join_peer(&peer);
	free(expected);
}

MAIN(on_each_path, body)

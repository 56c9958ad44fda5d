/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a peer READs as fast as it can, regions are registered, deregistered and their memory is given
 * other contents: a READ brings the bytes of its region or is refused, and never the later contents.
 */
#include "softdev_fixture.h"

enum { BYTES = 300000, ROUNDS = 150 };

struct offer {
	struct address address;
	uint64_t addr;
	uint32_t rkey;
	uint32_t seed;
};

static void serve(int fd)
{
	struct side side;
	struct address remote;

	open_side(&side, 16, 16);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct region region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
		struct offer offer = {address_of(&side), (uintptr_t)region.bytes, region.mr->rkey, round};

		fill_pattern(region.bytes, BYTES, round);
		if (round > 1) {
			struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

			CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &attr, IBV_QP_STATE), 0);
		}
		test_receive(fd, &remote, sizeof(remote));
		connect_side(&side, &remote, NULL);
		test_send(fd, &offer, sizeof(offer));
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
	struct region sink;
	struct side side;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
		struct address own = address_of(&side);
		struct offer offer;

		CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &attr, IBV_QP_STATE), 0);
		test_send(peer.fd, &own, sizeof(own));
		test_receive(peer.fd, &offer, sizeof(offer));
		connect_side(&side, &offer.address, NULL);
		fill_pattern(expected, BYTES, offer.seed);
		read_until_refused(&side, &sink, &offer, expected);
		test_signal(peer.fd);
	}
	destroy_region(&sink);
	close_side(&side);
	check_no_leaks();
	test_join_peer(&peer);
	free(expected);
}

int main(void)
{
	on_each_path(body);
}

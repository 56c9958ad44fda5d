/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader uses more regions of a peer, with files and without, than it keeps keys and descriptors of: each READ brings
 * the bytes of its region, and the descriptors do not pile up. A process that may have few of them keeps an eighth for
 * files of peers.
 */
#include "descriptors.h"
#include "offer.h"

enum { LIST = 64, MOST_KEPT = 1024, FILES = 1100, REGIONS = FILES + 8192, PAGE = 4096, ROUNDS = 2, FEW = 512 };

static bool has_few;

static struct ibv_mr *regions[REGIONS];
static uint32_t keys[REGIONS];

/* All regions are pages of one file; the first FILES of them are registered with it. */
static void serve(int fd)
{
	struct region *file;
	struct side side;

	open_side(&side, 16, 16);
	file = keep_region(&side, create_file_region(side.pd, (size_t)REGIONS * PAGE, ALL_REMOTE));
	for (int i = 0; i < REGIONS; i++) {
		uint8_t *page = file->bytes + (size_t)i * PAGE;

		fill_pattern(page, LIST, i);
		regions[i] = i < FILES ? softverbs_reg_file_mr(side.pd, page, PAGE, file->fd, (uint64_t)i * PAGE, ALL_REMOTE)
				       : softverbs_ibv_reg_mr(side.pd, page, PAGE, ALL_REMOTE);
		CHECK(regions[i]);
		keys[i] = regions[i]->rkey;
	}
	offer_region(fd, &side, file, NULL);
	test_send(fd, keys, sizeof(keys));
	test_await(fd);
	for (int i = 0; i < REGIONS; i++)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(regions[i]), 0);
	close_side(&side);
}

/* READs the first bytes of regions that follow one another, by one list. */
static void read_list(struct side *side, const struct region *sink, uint64_t addr, int first)
{
	int count = REGIONS - first < LIST ? REGIONS - first : LIST;
	struct ibv_send_wr wr[LIST], *bad;
	struct ibv_sge sge[LIST];
	uint8_t expected[LIST];

	for (int i = 0; i < count; i++) {
		sge[i] = sge_of(sink, (uint64_t)i * LIST, LIST);
		chain_read(wr, i, count, &sge[i], addr + (uint64_t)(first + i) * PAGE, keys[first + i]);
		wr[i].send_flags = wr[i].next ? 0 : IBV_SEND_SIGNALED;
	}
	CHECK_EQUAL(ibv_post_send(side->qp, wr, &bad), 0);
	expect_completion(side->cq, count - 1, IBV_WC_SUCCESS);
	for (int i = 0; i < count; i++) {
		fill_pattern(expected, LIST, first + i);
		CHECK(!memcmp(sink->bytes + (size_t)i * LIST, expected, LIST));
	}
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region *sink;
	struct offer offer;
	struct side side;
	int descriptors;

	open_side(&side, LIST, LIST);
	sink = add_region(&side, LIST * LIST, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer.fd, &side, NULL);
	test_receive(peer.fd, keys, sizeof(keys));
	descriptors = open_descriptors();
	if (has_few)
		limit_descriptors(FEW);
	for (int round = 0; round < ROUNDS; round++)
		for (int first = 0; first < REGIONS; first += LIST)
			read_list(&side, sink, offer.addr, first);
	if (test_path_is("auto"))
		CHECK_EQUAL(counters_now().reads_cma, ROUNDS * REGIONS);
	else
		CHECK(has_few ? counters_now().reads_file > 0 : counters_now().reads_file == ROUNDS * FILES);
	CHECK(open_descriptors() - descriptors <= (has_few ? FEW / 8 : MOST_KEPT) + 4);
	test_finish_peer(&peer);
	close_side(&side);
}

int main(void)
{
	allow_descriptors(8 * FILES);
	end_on_path("auto", start_on_path("auto", body));
	end_on_path("file", start_on_path("file", body));
	has_few = true;
	end_on_path("file", start_on_path("file", body));
}

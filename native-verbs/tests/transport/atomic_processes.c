/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes count in one word of another one: every value comes back once, to one of them, and one that is
 * killed meanwhile leaves the word whole.
 */
#include "offer.h"

enum { PEERS = 3, ADDS = 300, VICTIM = PEERS };

static const struct connection atomic = {.access = WITH_ATOMIC};

/* Adds 1, and returns the value before. */
static uint64_t add_one(struct side *side, const struct region *region, const struct offer *offer)
{
	struct ibv_send_wr wr = {.wr_id = 1,
				 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.atomic = {offer->addr, 1, 0, offer->rkey}};
	uint64_t before;

	CHECK_EQUAL(post_wr(side->qp, wr, sge_of(region, 0, 8)), 0);
	expect_completion(side->cq, 1, IBV_WC_SUCCESS);
	memcpy(&before, region->bytes, 8);
	return before;
}

/* Sends the values that it got; without an end for who is to be killed. */
static void add(int fd, bool for_ever)
{
	uint64_t got[ADDS];
	struct region *region;
	struct side side;
	struct offer offer;

	open_side(&side, 64, 16);
	region = add_region(&side, 4096, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(fd, &side, &atomic);
	for (int i = 0; i < ADDS || for_ever; i++)
		got[i % ADDS] = add_one(&side, region, &offer);
	test_send(fd, got, sizeof(got));
	test_await(fd);
	close_side(&side);
}

static void count(int fd)
{
	add(fd, false);
}

static void count_for_ever(int fd)
{
	add(fd, true);
}

static void body(void)
{
	static bool seen[1 << 20];
	struct test_peer peers[PEERS + 1];
	struct ibv_qp *qps[PEERS + 1];
	uint64_t got[ADDS], total;
	struct region *region;
	struct side side;

	for (int i = 0; i <= PEERS; i++)
		peers[i] = test_start_peer(i == VICTIM ? count_for_ever : count);
	open_side(&side, 64, 16);
	region = add_region(&side, 4096, WITH_ATOMIC);
	for (int i = 0; i <= PEERS; i++) {
		struct side end = side;

		end.qp = qps[i] = create_qp(&side, 16);
		offer_region(peers[i].fd, &end, region, &atomic);
	}
	AWAIT(*(volatile uint64_t *)(void *)region->bytes >= ADDS);
	test_kill_peer(&peers[VICTIM]);
	for (int i = 0; i < PEERS; i++) {
		test_receive(peers[i].fd, got, sizeof(got));
		for (int k = 0; k < ADDS; k++) {
			CHECK(got[k] < sizeof(seen) && !seen[got[k]]);
			CHECK(!k || got[k] > got[k - 1]);
			seen[got[k]] = true;
		}
		test_signal(peers[i].fd);
		test_join_peer(&peers[i]);
	}
	memcpy(&total, region->bytes, 8);
	CHECK(total >= PEERS * ADDS && total < sizeof(seen));
	for (int i = 0; i <= PEERS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(qps[i]), 0);
	close_side(&side);
	check_no_leaks();
}

MAIN(on_each_link, body)

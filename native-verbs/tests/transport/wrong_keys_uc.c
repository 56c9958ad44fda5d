/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Over an unreliable connection a wrong key costs nothing, so one could guess on and on: after as many wrong keys as over
 * reliable ones that process is not listened to any more, even with the right key, while others are.
 */
#include "offer.h"
#include "transport/wrong_keys.h"

static void write_word(struct side *side, struct region *from, uint64_t addr, uint32_t rkey)
{
	CHECK_EQUAL(post(side->qp, IBV_WR_RDMA_WRITE, 1, sge_of(from, 0, 8), addr, rkey), 0);
	expect_completion(side->cq, 1, IBV_WC_SUCCESS);
}

/* Writes `wrong` times with a key that is none, then with the right one. */
static void write_with_keys(int fd, int wrong)
{
	struct side side;
	struct region *from;
	struct offer offer;

	open_side_of(&side, IBV_QPT_UC, 16, 16);
	from = add_region(&side, 4096, IBV_ACCESS_LOCAL_WRITE);
	memset(from->bytes, 0x77, 8);
	offer = accept_offer(fd, &side, NULL);
	for (int i = 0; i < wrong; i++)
		write_word(&side, from, offer.addr, offer.rkey ^ (1 + i));
	write_word(&side, from, offer.addr, offer.rkey);
	test_rendezvous(fd);
	close_side(&side);
}

static void guess(int fd)
{
	write_with_keys(fd, WRONG_KEYS_PER_MINUTE + 20);
}

static void know(int fd)
{
	write_with_keys(fd, 3);
}

static void expect_word(struct test_peer *peer, struct side *side, struct region *region, bool written)
{
	move_qp(side->qp, IBV_QPS_RESET);
	memset(region->bytes, 0, 16);
	offer_region(peer->fd, side, region, NULL);
	test_await(peer->fd);
	if (written)
		AWAIT(*(volatile uint8_t *)region->bytes == 0x77);
	else
		test_sleep_ms(300);
	CHECK_EQUAL(region->bytes[0], written ? 0x77 : 0);
	CHECK_EQUAL(region->bytes[8], 0);
	CHECK_EQUAL(state_of(side->qp), IBV_QPS_RTS);
	test_finish_peer(peer);
}

int main(void)
{
	struct test_peer guesser = test_start_peer(guess), knower = test_start_peer(know);
	struct region *region;
	struct side side;

	open_side_of(&side, IBV_QPT_UC, 16, 16);
	region = add_region(&side, 4096, ALL_REMOTE);
	expect_word(&guesser, &side, region, false);
	expect_word(&knower, &side, region, true);
	close_side(&side);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes count in one word of another one: every value comes back once, to one of them, and one that is
 * killed meanwhile leaves the word whole.
 */
#include "softdev_fixture.h"

enum { PEERS = 3, ADDS = 300, VICTIM = PEERS };
enum { WITH_ATOMIC = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC };

static const struct connection atomic = {.access = WITH_ATOMIC};

struct offer {
	struct address address;
	uint64_t word;
	uint32_t rkey;
};

/* The values that it got; without an end for who is to be killed. */
static void add(int fd, bool for_ever)
{
	uint64_t got[ADDS];
	struct address own;
	struct region region;
	struct side side;
	struct offer offer;

	open_side(&side, 64, 16);
	region = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &offer, sizeof(offer));
	connect_side(&side, &offer.address, &atomic);
	for (int i = 0; i < ADDS || for_ever; i++) {
		struct ibv_sge sge = sge_of(&region, 0, 8);
		struct ibv_send_wr *bad, wr = {.wr_id = 1,
					       .sg_list = &sge,
					       .num_sge = 1,
					       .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					       .send_flags = IBV_SEND_SIGNALED,
					       .wr.atomic = {offer.word, 1, 0, offer.rkey}};

		CHECK_EQUAL(ibv_post_send(side.qp, &wr, &bad), 0);
		expect_completion(side.cq, 1, IBV_WC_SUCCESS);
		memcpy(&got[i % ADDS], region.bytes, 8);
	}
	test_send(fd, got, sizeof(got));
	test_await(fd);
	destroy_region(&region);
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
	struct region region;
	struct side side;

	for (int i = 0; i <= PEERS; i++)
		peers[i] = test_start_peer(i == VICTIM ? count_for_ever : count);
	open_side(&side, 64, 16);
	region = create_region(side.pd, 4096, WITH_ATOMIC);
	for (int i = 0; i <= PEERS; i++) {
		struct side end = side;
		struct address remote;
		struct offer offer = {.word = (uintptr_t)region.bytes, .rkey = region.mr->rkey};

		end.qp = qps[i] = create_qp(&side, 16);
		offer.address = address_of(&end);
		test_receive(peers[i].fd, &remote, sizeof(remote));
		connect_side(&end, &remote, &atomic);
		test_send(peers[i].fd, &offer, sizeof(offer));
	}
	test_sleep_ms(5);
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
	memcpy(&total, region.bytes, 8);
	CHECK(total >= PEERS * ADDS && total < sizeof(seen));
	for (int i = 0; i <= PEERS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(qps[i]), 0);
	destroy_region(&region);
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	on_each_link(body);
}

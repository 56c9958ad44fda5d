/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair that only receives opens no link: many connections that send in one direction take a descriptor each. */
#include "descriptors.h"
#include "offer.h"

enum { PAIRS = 100, BYTES = 64, FEW = 20 };

static struct side first;
static struct ibv_qp *qps[PAIRS];

/* With its first connection a process also gets a descriptor of the other one's table. */
static int open_all(int fd)
{
	int before;

	open_side(&first, 2 * PAIRS, 4);
	before = open_descriptors();
	for (int i = 0; i < PAIRS; i++) {
		struct side side = first;

		side.qp = qps[i] = create_qp(&first, 4);
		connect_over(fd, &side, NULL);
	}
	return before;
}

static void close_all(void)
{
	for (int i = 0; i < PAIRS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(qps[i]), 0);
	close_side(&first);
}

static void receive(int fd)
{
	int before = open_all(fd);
	struct region *region = add_region(&first, BYTES, ALL_REMOTE);

	for (int i = 0; i < PAIRS; i++)
		CHECK_EQUAL(post_receive(qps[i], 1, sge_of(region, 0, BYTES)), 0);
	test_signal(fd);
	for (int i = 0; i < PAIRS; i++)
		expect_completion(first.cq, 1, IBV_WC_SUCCESS);
	CHECK(open_descriptors() - before < PAIRS + FEW);
	test_signal(fd);
	test_await(fd);
	close_all();
}

int main(void)
{
	struct test_peer peer = test_start_peer(receive);
	int before = open_all(peer.fd);
	struct region *region = add_region(&first, BYTES, ALL_REMOTE);

	test_await(peer.fd);
	for (int i = 0; i < PAIRS; i++)
		CHECK_EQUAL(post(qps[i], IBV_WR_SEND, 1, sge_of(region, 0, BYTES), 0, 0), 0);
	for (int i = 0; i < PAIRS; i++)
		expect_completion(first.cq, 1, IBV_WC_SUCCESS);
	test_await(peer.fd);
	CHECK(open_descriptors() - before < PAIRS + FEW);
	test_signal(peer.fd);
	test_join_peer(&peer);
	close_all();
}

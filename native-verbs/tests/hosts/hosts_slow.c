/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link so slow that a message takes longer than all retries is no reason to fail: as long as something of it arrives, a
 * READ, a WRITE and a SEND go on.
 */
#define _GNU_SOURCE

#include "hosts_fixture.h"
#include "offer.h"

enum { LENGTH = 160 << 10, RETRIES_MS = 2000 };

/* 64 KiB a second, each direction. */
static void slow_down(void)
{
	if (system("tc qdisc add dev wire root tbf rate 512kbit burst 16k limit 4m 2>/dev/null"))
		test_skip("no tc, or no token bucket filter in the kernel");
}

static struct region *open_and_connect(int fd, struct side *side, struct offer *theirs)
{
	struct region *region;

	slow_down();
	open_side(side, 16, 16);
	region = add_region(side, LENGTH, ALL_REMOTE);
	*theirs = exchange_offers(fd, side, region);
	CHECK_EQUAL(post_receive(side->qp, 1, sge_of(region, 0, LENGTH)), 0);
	test_rendezvous(fd);
	return region;
}

static void serve(int fd)
{
	struct side side;
	struct offer theirs;

	open_and_connect(fd, &side, &theirs);
	expect_completion(side.cq, 1, IBV_WC_SUCCESS);
	test_rendezvous(fd);
	close_side(&side);
}

int main(void)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND};
	struct test_peer peer = hosts_start(serve);
	struct side side;
	struct offer theirs;
	struct region *region = open_and_connect(peer.fd, &side, &theirs);

	for (int i = 0; i < 3; i++) {
		uint64_t start = test_now_ms();

		CHECK_EQUAL(post(side.qp, opcodes[i], i + 2, sge_of(region, 0, LENGTH), theirs.addr, theirs.rkey), 0);
		expect_completion(side.cq, i + 2, IBV_WC_SUCCESS);
		CHECK(test_now_ms() - start > RETRIES_MS);
	}
	test_await(peer.fd);
	test_signal(peer.fd);
	close_side(&side);
	test_join_peer(&peer);
}

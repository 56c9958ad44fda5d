/* SPDX-License-Identifier: Apache-2.0 */
/* A SEND completes before the reply to it is received: who has the reply has the slot of the request back. */
#include "softdev_fixture.h"

enum { ROUNDS = 4000 };

static void exchange(int fd, struct side *side, struct region *region, bool asks)
{
	struct address own, remote;

	open_side(side, 16, 2);
	*region = create_region(side->pd, 4096, ALL_REMOTE);
	own = address_of(side);
	CHECK_EQUAL(write(fd, &own, sizeof(own)), sizeof(own));
	test_receive(fd, &remote, sizeof(remote));
	connect_side(side, &remote, NULL);
	CHECK_EQUAL(post_receive(side->qp, 0, sge_of(region, 64, 8)), 0);
	if (asks)
		test_await(fd);
	else
		test_signal(fd);
}

static void serve(int fd)
{
	struct region region;
	struct side side;

	exchange(fd, &side, &region, false);
	for (int i = 0; i < ROUNDS; i++) {
		struct ibv_wc wc = wait_completion(side.cq);

		if (i)
			CHECK_EQUAL(wc.opcode, IBV_WC_SEND);
		if (i)
			wc = wait_completion(side.cq);
		CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
		CHECK_EQUAL(post_receive(side.qp, 0, sge_of(&region, 64, 8)), 0);
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(&region, 0, 8), 0, 0), 0);
	}
	test_await(fd);
	destroy_region(&region);
	close_side(&side);
}

int main(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region region;
	struct side side;

	exchange(peer.fd, &side, &region, true);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(&region, 0, 8), 0, 0), 0);
		CHECK_EQUAL(wait_completion(side.cq).opcode, IBV_WC_SEND);
		CHECK_EQUAL(wait_completion(side.cq).opcode, IBV_WC_RECV);
		CHECK_EQUAL(post_receive(side.qp, 0, sge_of(&region, 64, 8)), 0);
	}
	destroy_region(&region);
	close_side(&side);
	test_signal(peer.fd);
	test_join_peer(&peer);
}

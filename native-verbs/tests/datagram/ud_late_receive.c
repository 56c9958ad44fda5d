/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver with one buffer, which it posts again whenever it has polled, loses nothing of a burst; who posts none loses
 * what came meanwhile, and the first datagram after that arrives as soon as there is a buffer again.
 */
#include "ud_fixture.h"

enum { BURST = 40, BUFFER = 256 };

static void run(void)
{
	struct ud_side from, to;
	union ibv_gid gid;
	struct ibv_ah *ah;

	open_ud_side(&from, BURST);
	open_ud_side(&to, 1);
	gid = gid_at(&to, 1);
	ah = ah_to(&from, &gid, 1);
	for (uint32_t i = 0; i < BURST; i++)
		CHECK_EQUAL(ud_post(&from, ah, to.side.qp->qp_num, i, i + 1), 0);
	for (uint32_t i = 0; i < BURST; i++) {
		CHECK_EQUAL(post_receive(to.side.qp, i, sge_of(&to.memory, 0, BUFFER)), 0);
		CHECK_EQUAL(wait_completion(to.side.cq).byte_len, GRH_BYTES + i + 1);
		expect_completion(from.side.cq, i, IBV_WC_SUCCESS);
	}
	for (int i = 0; i < 3; i++)
		ud_send(&from, ah, to.side.qp->qp_num, 100);
	expect_quiet(to.side.cq);
	CHECK_EQUAL(post_receive(to.side.qp, 7, sge_of(&to.memory, 0, BUFFER)), 0);
	ud_send(&from, ah, to.side.qp->qp_num, 50);
	CHECK_EQUAL(wait_completion(to.side.cq).byte_len, GRH_BYTES + 50);
	/* A queue pair that goes while a datagram waits for it. */
	ud_send(&from, ah, to.side.qp->qp_num, 10);
	close_ud_side(&to);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	close_ud_side(&from);
	check_no_leaks();
}

int main(void)
{
	on_each_transport(run);
	return 0;
}

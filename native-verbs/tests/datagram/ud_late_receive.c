/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver with one buffer, which it posts again whenever it has polled, loses nothing of a burst; who posts none loses
 * what came meanwhile, and the first datagram after that arrives as soon as there is a buffer again. A datagram that waits for a
 * buffer waits alone: those for another queue pair go past it.
 */
#include "ud_fixture.h"

enum { BURST = 40, BUFFER = 256, ROUNDS = 20 };

/* True if the one for `with` came while the one for `without` waited, and that one after it. */
static bool goes_past(struct ud_side *from, struct ud_side *without, struct ud_side *with, struct ibv_ah *ah)
{
	uint64_t end;

	CHECK_EQUAL(post_receive(with->side.qp, 1, sge_of(&with->memory, 0, BUFFER)), 0);
	ud_send(from, ah, without->side.qp->qp_num, 10);
	ud_send(from, ah, with->side.qp->qp_num, 20);
	CHECK_EQUAL(wait_completion(with->side.cq).byte_len, GRH_BYTES + 20);
	CHECK_EQUAL(post_receive(without->side.qp, 2, sge_of(&without->memory, 0, BUFFER)), 0);
	for (end = test_now_ms() + QUIET_MS; test_now_ms() < end; usleep(1000)) {
		struct ibv_wc wc;

		if (ibv_poll_cq(without->side.cq, 1, &wc) == 1)
			return true;
	}
	ud_send(from, ah, without->side.qp->qp_num, 10); /* it waited too long: next time, for this takes the buffer */
	CHECK_EQUAL(wait_completion(without->side.cq).byte_len, GRH_BYTES + 10);
	return false;
}

static void run(void)
{
	struct ud_side from, to, other;
	bool past = false;
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
	open_ud_side(&other, 1);
	for (int i = 0; i < ROUNDS && !past; i++)
		past = goes_past(&from, &to, &other, ah);
	CHECK(past);
	close_ud_side(&other);
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

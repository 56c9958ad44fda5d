/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver with one buffer, which it posts again whenever it has polled, loses nothing of a burst; who posts none loses
 * what came meanwhile, and the first datagram after that arrives as soon as there is a buffer again. A datagram that waits for a
 * buffer waits alone: those for another queue pair go past it.
 */
#include "ud_fixture.h"

enum { BURST = 40, BUFFER = 256, ROUNDS = 20, IN_TIME_MS = 40 }; /* a datagram waits 50 ms for its receive */

/* How many of a burst arrive until this thread is too slow to post again in time: what is lost then is not the device's fault. */
static int arrivals_of_burst(void)
{
	struct ud_side from, to;
	uint64_t before, posting;
	int arrived = 0;

	open_ud_side(&from, BURST);
	open_ud_side(&to, 1);
	before = test_now_ms();
	for (uint32_t i = 0; i < BURST; i++)
		ud_post(&from, to.side.qp->qp_num, i, i + 1);
	for (; arrived < BURST; arrived++, before = posting) {
		posting = test_now_ms();
		ud_receive(&to, arrived, BUFFER);
		if (test_now_ms() - before > IN_TIME_MS)
			break;
		ud_expect(&to, arrived + 1);
		expect_completion(from.side.cq, arrived, IBV_WC_SUCCESS);
	}
	close_ud_side(&from);
	close_ud_side(&to);
	return arrived;
}

/* The progress thread sees a queue pair off, and then runs the timers that are due before it sees the next one off. */
static void run_due_timers(struct ud_side *ud)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(create_qp_of(&ud->side, IBV_QPT_UD, 1)), 0);
}

/* `without` loses what came while it had no buffer, and nothing afterwards. */
static void is_lost(struct ud_side *from, struct ud_side *without, struct ud_side *with)
{
	for (int i = 0; i < 3; i++)
		ud_send(from, without->side.qp->qp_num, 100);
	ud_receive(with, 1, BUFFER);
	ud_send(from, with->side.qp->qp_num, 20);
	ud_expect(with, 20); /* so the three are there, too */
	expect_quiet(without->side.cq);
	run_due_timers(without);
	ud_receive(without, 7, BUFFER);
	ud_send(from, without->side.qp->qp_num, 50);
	ud_expect(without, 50);
}

/* True if the one for `with` came while the one for `without` waited, and that one after it. */
static bool goes_past(struct ud_side *from, struct ud_side *without, struct ud_side *with)
{
	uint64_t end;

	ud_receive(with, 1, BUFFER);
	ud_send(from, without->side.qp->qp_num, 10);
	ud_send(from, with->side.qp->qp_num, 20);
	ud_expect(with, 20);
	ud_receive(without, 2, BUFFER);
	for (end = test_now_ms() + QUIET_MS; test_now_ms() < end; usleep(1000)) {
		struct ibv_wc wc;

		if (ibv_poll_cq(without->side.cq, 1, &wc) == 1)
			return true;
	}
	ud_send(from, without->side.qp->qp_num, 10); /* it waited too long: next time, for this takes the buffer */
	ud_expect(without, 10);
	return false;
}

static void run(void)
{
	bool past = false;
	struct ud_side from, to, other;

	for (int arrived = 0; arrived < BURST;)
		arrived += arrivals_of_burst();
	open_ud_side(&from, 1);
	open_ud_side(&to, 1);
	open_ud_side(&other, 1);
	is_lost(&from, &to, &other);
	for (int i = 0; i < ROUNDS && !past; i++)
		past = goes_past(&from, &to, &other);
	CHECK(past);
	close_ud_side(&other);
	/* A queue pair that goes while a datagram waits for it. */
	ud_send(&from, to.side.qp->qp_num, 10);
	close_ud_side(&to);
	close_ud_side(&from);
	check_no_leaks();
}

MAIN(with_and_without_secret, run)

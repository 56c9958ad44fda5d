/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A receiver that is stopped, or dead, costs those who send to it their datagrams and a moment, and nobody else
 * anything: every send completes, other receivers are served meanwhile, and after SIGCONT the next ones arrive.
 */
#include "ud_fixture.h"

enum { FLOOD = 8000, DEPTH = 100, BUFFER = 8192, LIMIT_MS = 10000 };

static void receive(int fd)
{
	struct ud_side ud;
	uint32_t qpn;

	open_ud_side(&ud, DEPTH);
	for (int i = 0; i < DEPTH; i++)
		ud_receive(&ud, 1, BUFFER);
	qpn = ud.side.qp->qp_num;
	test_send(fd, &qpn, sizeof(qpn));
	for (;;) {
		struct ibv_wc wc = wait_completion(ud.side.cq);

		ud_receive(&ud, 1, BUFFER);
		if (wc.byte_len == GRH_BYTES + 1) { /* the first one after all that was under way */
			test_signal(fd);
			pause();
		}
	}
}

/* So many datagrams of full size; how long all completions took. */
static uint64_t flood(struct ud_side *ud, uint32_t qpn)
{
	uint64_t start = test_now_ms();
	int posted = 0, completed = 0;

	while (completed < FLOOD) {
		while (posted < FLOOD && posted - completed < DEPTH) {
			ud_post(ud, qpn, 1, UD_MTU);
			posted++;
		}
		expect_completion(ud->side.cq, 1, IBV_WC_SUCCESS);
		completed++;
	}
	return test_now_ms() - start;
}

static void run(void)
{
	struct test_peer child = test_start_peer(receive);
	struct ud_side ud, other;
	uint32_t qpn;
	int status;

	test_receive(child.fd, &qpn, sizeof(qpn));
	open_ud_side(&ud, DEPTH);
	open_ud_side(&other, DEPTH);
	CHECK(!kill(child.pid, SIGSTOP));
	CHECK_EQUAL(waitpid(child.pid, &status, WUNTRACED), child.pid);
	CHECK(flood(&ud, qpn) < LIMIT_MS);
	ud_post(&ud, qpn, 2, UD_MTU);
	ud_receive(&other, 3, BUFFER);
	ud_post(&other, other.side.qp->qp_num, 4, 100);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(wait_completion(other.side.cq).status, IBV_WC_SUCCESS);
	expect_completion(ud.side.cq, 2, IBV_WC_SUCCESS);
	CHECK(!kill(child.pid, SIGCONT));
	for (uint64_t end = test_now_ms() + WAIT_MS; !test_readable(child.fd, 50);) {
		CHECK(test_now_ms() < end);
		ud_send(&ud, qpn, 1);
	}
	CHECK(!kill(child.pid, SIGSTOP));
	test_kill_peer(&child);
	CHECK(flood(&ud, qpn) < LIMIT_MS);
	close_ud_side(&ud);
	close_ud_side(&other);
	check_no_leaks();
}

MAIN(with_and_without_secret, run)

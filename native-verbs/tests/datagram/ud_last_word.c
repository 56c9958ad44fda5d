/* SPDX-License-Identifier: Apache-2.0 */
/* The only datagram of a process that ends as soon as it has sent it arrives, however many such processes there are at once. */
#include "ud_fixture.h"

enum { ROUNDS = 8, SENDERS = 8, BUFFER = 256 };

static void speak(int fd)
{
	struct ud_side from;
	uint32_t qpn;

	test_receive(fd, &qpn, sizeof(qpn));
	open_ud_side(&from, 1);
	ud_send(&from, qpn, 100);
	exit(0);
}

static void run(void)
{
	struct test_peer peers[SENDERS];
	struct ud_side to;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < SENDERS; i++)
			peers[i] = test_start_peer(speak);
		open_ud_side(&to, SENDERS);
		for (int i = 0; i < SENDERS; i++)
			ud_receive(&to, i, BUFFER);
		for (int i = 0; i < SENDERS; i++)
			test_send(peers[i].fd, &to.side.qp->qp_num, sizeof(to.side.qp->qp_num));
		for (int i = 0; i < SENDERS; i++)
			ud_expect(&to, 100);
		for (int i = 0; i < SENDERS; i++)
			test_join_peer(&peers[i]);
		close_ud_side(&to);
	}
}

MAIN(with_and_without_secret, run)

/* SPDX-License-Identifier: Apache-2.0 */
/* Who guesses keys is soon not let in any more, while others are. */
#include "offer.h"
#include "transport/wrong_keys.h"

static const struct connection quick = {.timeout = 10, .retry_count = 1};

static void serve(int fd)
{
	struct side side;
	struct region *region;
	struct offer offer;

	open_side(&side, 16, 16);
	region = add_region(&side, 4096, IBV_ACCESS_REMOTE_READ);
	offer = offer_of(&side, region);
	for (;;) {
		struct address remote;

		test_receive(fd, &remote, sizeof(remote));
		if (!remote.qpn)
			break;
		reconnect_side(&side, &remote, &quick);
		test_send(fd, &offer, sizeof(offer));
	}
	close_side(&side);
}

/* READs in a process of its own, over a new connection for each: `wrong` times with a wrong key, and then with the right one. */
static void expect_reads(int fd, int wrong, enum ibv_wc_status last)
{
	pid_t pid = test_fork();
	struct region *sink;
	struct side side;

	if (pid) {
		test_join(pid);
		return;
	}
	open_side(&side, 16, 16);
	sink = add_region(&side, 4096, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i <= wrong; i++) {
		struct offer offer;

		move_qp(side.qp, IBV_QPS_RESET);
		offer = accept_offer(fd, &side, &quick);
		read_and_expect(&side, 1, sink, 8, offer.addr, offer.rkey ^ (i < wrong ? 1 + i : 0),
				i < wrong ? IBV_WC_REM_ACCESS_ERR : last);
	}
	close_side(&side);
	exit(0);
}

int main(void)
{
	static const struct address nobody;
	struct test_peer peer = test_start_peer(serve);

	expect_reads(peer.fd, WRONG_KEYS_PER_MINUTE, IBV_WC_RETRY_EXC_ERR);
	expect_reads(peer.fd, 0, IBV_WC_SUCCESS);
	test_send(peer.fd, &nobody, sizeof(nobody));
	test_join_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With a secret any user of the host may connect to the socket for datagrams: a crowd that proves nothing neither takes
 * the descriptors of the process nor keeps those away who know the secret.
 */
#include "descriptors.h"
#include "raw_link.h"
#include "ud_fixture.h"

#include <sys/resource.h>

enum { CROWD = 600, ALLOWED_DESCRIPTORS = 300 };

static void crowd(int control)
{
	struct rlimit limit = {2 * CROWD, 2 * CROWD};
	uint16_t port;
	int first;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	test_receive(control, &port, sizeof(port));
	first = raw_datagram_connect(port);
	for (int i = 1; i < CROWD; i++)
		raw_datagram_connect(port);
	CHECK(test_readable(first, 2000)); /* dropped, well before its time is over */
	test_signal(control);
	test_await(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(crowd);
	struct ud_side ud;
	uint16_t port;
	int before;

	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	open_ud_side(&ud, 4);
	before = open_descriptors();
	port = ud.side.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	CHECK(open_descriptors() - before < ALLOWED_DESCRIPTORS);
	ud_receive(&ud, 5, 512);
	ud_post(&ud, ud.side.qp->qp_num, 5, 8);
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	test_signal(peer.fd);
	test_join_peer(&peer);
	close_ud_side(&ud);
}

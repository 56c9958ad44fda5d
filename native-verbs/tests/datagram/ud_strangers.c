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

static int connect_silently(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_link_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	memcpy((char *)&name + length, ".ud", 3);
	CHECK(!connect(fd, (struct sockaddr *)&name, length + 3));
	return fd;
}

static void crowd(int control)
{
	struct rlimit limit = {2 * CROWD, 2 * CROWD};
	uint16_t port;
	int first;

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	test_receive(control, &port, sizeof(port));
	first = connect_silently(port);
	for (int i = 1; i < CROWD; i++)
		connect_silently(port);
	CHECK(test_readable(first, 2000)); /* dropped, well before its time is over */
	test_signal(control);
	test_await(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(crowd);
	struct ud_side ud;
	struct ibv_ah *ah;
	union ibv_gid gid;
	uint16_t port;
	int before;

	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	open_ud_side(&ud, 4);
	before = open_descriptors();
	port = ud.side.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	CHECK(open_descriptors() - before < ALLOWED_DESCRIPTORS);
	gid = gid_at(&ud, 1);
	ah = ah_to(&ud, &gid, 1);
	CHECK_EQUAL(post_receive(ud.side.qp, 5, sge_of(&ud.memory, 0, 512)), 0);
	CHECK_EQUAL(ud_post(&ud, ah, ud.side.qp->qp_num, 5, 8), 0);
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	test_signal(peer.fd);
	test_join_peer(&peer);
	close_ud_side(&ud);
}

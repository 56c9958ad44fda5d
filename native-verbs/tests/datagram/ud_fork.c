/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fork whose child lives on and does not exec changes nothing for the parent: datagrams go on in both directions. In the
 * child every call fails with EIO.
 */
#include "ud_fixture.h"

static void send_to_itself(struct ud_side *ud)
{
	ud_receive(ud, 1, 256);
	ud_post(ud, ud->side.qp->qp_num, 2, 16);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(wait_completion(ud->side.cq).status, IBV_WC_SUCCESS);
}

static void in_child(struct ud_side *ud, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = ah_attr_to(gid, 1);

	CHECK_EQUAL(ud_post_by(ud, ud->ah, 1, 1, 1), EIO);
	CHECK_REFUSED(softverbs_ibv_create_ah(ud->side.pd, &attr), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ud->ah), EIO);
}

static void run(void)
{
	struct ud_side ud;
	union ibv_gid gid;
	int fds[2];
	pid_t pid;

	open_ud_side(&ud, 8);
	gid = gid_at(&ud, 1);
	send_to_itself(&ud);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds));
	pid = test_fork();
	if (!pid) {
		close(fds[0]);
		in_child(&ud, &gid);
		test_rendezvous(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	test_await(fds[0]);
	send_to_itself(&ud);
	test_signal(fds[0]);
	test_join(pid);
	close(fds[0]);
	close_ud_side(&ud);
	check_no_leaks();
}

MAIN(with_and_without_secret, run)

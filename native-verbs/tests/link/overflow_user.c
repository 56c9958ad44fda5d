/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process in a user namespace that maps no users sees all of them, itself included, as the overflow uid. Another user is not
 * taken for its own there, and is refused.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "raw_responder.h"
#include "softdev_fixture.h"
#include "users.h"

enum { OWNER = 4712, INTRUDER = 4711 };

static void serve(int fd)
{
	struct address remote;
	struct side side;

	become_user(OWNER);
	if (unshare(CLONE_NEWUSER))
		test_skip("user namespaces are not allowed here");
	open_side(&side, 16, 16);
	remote = address_of(&side);
	connect_side(&side, &remote, NULL);
	test_send(fd, &side.qp->qp_num, sizeof(side.qp->qp_num));
	test_await(fd);
	close_side(&side);
}

int main(void)
{
	struct link_hello hello = raw_link_hello(LINK_KIND_QP);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	struct test_peer peer;
	uint8_t answer[256];
	uint32_t qpn;
	int link;

	need_root();
	peer = test_start_peer(serve);
	if (!test_readable(peer.fd, TEST_SECONDS * 1000) || read(peer.fd, &qpn, sizeof(qpn)) != sizeof(qpn))
		test_join_peer(&peer);
	become_user(INTRUDER);
	link = raw_link_connect(qpn >> 8);
	raw_write_frame(link, &frame, &hello); /* the refusal may be quicker */
	CHECK(raw_read_frame(link, &frame, answer, sizeof(answer)));
	CHECK_EQUAL(frame.op, FRAME_REFUSED);
	CHECK_EQUAL(frame.status, EACCES);
	test_finish_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that come from another user's process are never taken in, not even to be closed: to look at or close a
 * file whose file system that user runs may take for ever. Where a secret is set such a process can connect.
 */
#define _GNU_SOURCE
#include "descriptors.h"
#include "raw_responder.h"
#include "users.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

/* The head of a HELLO with a descriptor: it is not thrown away before the rest has come. */
static void pass_a_file(int control)
{
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(struct link_hello)};
	struct iovec iov = {&frame, sizeof(frame)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control_data = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control_data, .msg_controllen = sizeof(control_data)};
	int file = memfd_create("foreign", MFD_CLOEXEC), link, unread;
	struct stat status;
	uint16_t port;

	become_user(NOBODY);
	test_receive(control, &port, sizeof(port));
	link = raw_link_connect(port);
	control_data.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control_data.header), &file, sizeof(file));
	CHECK_EQUAL(sendmsg(link, &message, 0), sizeof(frame));
	AWAIT(ioctl(link, SIOCOUTQ, &unread) || !unread);
	CHECK(!fstat(file, &status));
	test_send(control, &status, sizeof(status));
	test_await(control);
}

int main(void)
{
	struct test_peer peer;
	struct stat file;
	struct side side;
	uint16_t port;
	int one;

	need_root();
	peer = test_start_peer(pass_a_file);
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	open_side(&side, 16, 16);
	port = side.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_receive(peer.fd, &file, sizeof(file));
	CHECK_EQUAL(descriptors_of(&file, &one), 0);
	test_finish_peer(&peer);
	close_side(&side);
}

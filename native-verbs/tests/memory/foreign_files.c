/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors that come from another user's process are never taken in, not even to be closed: to look at or close a
 * file whose file system that user runs may take for ever. Where a secret is set such a process can connect.
 */
#define _GNU_SOURCE
#include "raw_responder.h"
#include "softdev_fixture.h"

#include <dirent.h>
#include <grp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>

enum { NOBODY = 65534 };

#define NAME "foreign_files_test"

static void await_reading(int link)
{
	uint64_t end = test_now_ms() + WAIT_MS;
	int unread;

	while (!ioctl(link, SIOCOUTQ, &unread) && unread) {
		CHECK(test_now_ms() < end);
		test_sleep_ms(1);
	}
}

/* The head of a HELLO with a descriptor: it is not thrown away before the rest has come. */
static void pass_a_file(int control)
{
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(struct raw_hello)};
	struct iovec iov = {&frame, sizeof(frame)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control_data = {.bytes = {0}};
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control_data, .msg_controllen = sizeof(control_data)};
	int file = memfd_create(NAME, MFD_CLOEXEC), link;
	uint16_t port;

	CHECK(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY));
	test_receive(control, &port, sizeof(port));
	link = raw_link_connect(port);
	control_data.header = (struct cmsghdr){
		.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(&control_data.header), &file, sizeof(file));
	CHECK_EQUAL(sendmsg(link, &message, 0), sizeof(frame));
	await_reading(link);
	test_signal(control);
	test_await(control);
}

static bool has_the_file(void)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	bool found = false;

	CHECK(directory);
	while ((entry = readdir(directory))) {
		char target[128] = "";

		if (readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1) > 0)
			found |= strstr(target, NAME) && strstr(target, "memfd:");
	}
	closedir(directory);
	return found;
}

int main(void)
{
	struct test_peer peer;
	struct side side;
	uint16_t port;

	if (geteuid())
		test_skip("only root can start a process of another user");
	peer = test_start_peer(pass_a_file);
	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	open_side(&side, 16, 16);
	port = side.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	CHECK(!has_the_file());
	test_signal(peer.fd);
	test_join_peer(&peer);
	close_side(&side);
}

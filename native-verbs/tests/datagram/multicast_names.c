/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in a group shows in the names of unix sockets, and anybody may take a name: one that only looks like that of a
 * member does not make it get two copies of a datagram.
 */
#include "ud_fixture.h"

#include <stddef.h>
#include <sys/un.h>

enum { LENGTH = 64, BUFFER = 512 };

static union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 7, [15] = 7}};

static int take_name(unsigned long inode, const char *leading_zeros, uint16_t port)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), used;

	used = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softverbs.%lu.%s%u.mc.", inode, leading_zeros, port);
	for (int i = 0; i < 16; i++)
		used += snprintf(name.sun_path + 1 + used, sizeof(name.sun_path) - 1 - used, "%02x", group.raw[i]);
	CHECK(fd >= 0);
	CHECK(!bind(fd, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + used));
	return fd;
}

int main(void)
{
	unsigned long inode;
	struct ud_side ud;
	struct ibv_ah *ah;
	char target[64] = "";
	uint16_t port;
	int names[2];

	alarm(TEST_SECONDS);
	make_group_unique(&group);
	CHECK(readlink("/proc/self/ns/net", target, sizeof(target) - 1) > 0);
	CHECK_EQUAL(sscanf(target, "net:[%lu]", &inode), 1);
	open_ud_side(&ud, 4);
	port = ud.side.qp->qp_num >> 8;
	names[0] = take_name(inode + 1, "", port);
	names[1] = take_name(inode, "0", port);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(ud.side.qp, &group, 0), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_receive(ud.side.qp, 3, sge_of(&ud.memory, 0, BUFFER)), 0);
	ah = ah_to(&ud, &group, 1);
	CHECK_EQUAL(ud_post(&ud, ah, 0xffffff, 3, LENGTH), 0);
	expect_completion(ud.side.cq, 3, IBV_WC_SUCCESS); /* the send and one receive */
	expect_completion(ud.side.cq, 3, IBV_WC_SUCCESS);
	expect_quiet(ud.side.cq);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(ud.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	close(names[0]);
	close(names[1]);
	close_ud_side(&ud);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is in a group shows in the names of unix sockets, and anybody may take a name. One that only looks like that of a
 * member does not make it get two copies of a datagram; a crowd of them does not keep the member from its copy, however
 * many there are, and nobody who is not trusted is sent one: without a secret another user, with one who does not know it.
 */
#include "ud_fixture.h"

#include <grp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/un.h>

enum { LENGTH = 64, BUFFER = 512, NOBODY = 65534, CROWD = 5000, LISTENERS = 200 };

static union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 7, [15] = 7}};

/* "softverbs.<port><suffix>"; the port with leading zeros, if wanted. */
static int take_name(const char *leading_zeros, uint16_t port, const char *suffix, int type)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0), used;

	used = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "softverbs.%s%u%s", leading_zeros, port, suffix);
	CHECK(fd >= 0);
	CHECK(!bind(fd, (struct sockaddr *)&name, offsetof(struct sockaddr_un, sun_path) + 1 + used));
	return fd;
}

static int take_member_name(const char *leading_zeros, uint16_t port)
{
	static const char no_token[] = "0000000000000000000000000000000000000000";
	char suffix[80];
	int used = sprintf(suffix, ".mc.");

	for (int i = 0; i < 16; i++)
		used += sprintf(suffix + used, "%02x", group.raw[i]);
	sprintf(suffix + used, ".%s", no_token);
	return take_name(leading_zeros, port, suffix, SOCK_DGRAM);
}

/* Members that are none, at ports where nobody listens and at some where these listen themselves. */
static void crowd(int control)
{
	struct rlimit limit;
	int listeners[LISTENERS];

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = limit.rlim_max;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(!setgroups(0, NULL) && !setgid(NOBODY) && !setuid(NOBODY));
	for (int i = 0; i < CROWD; i++)
		take_member_name("", i + 1);
	for (int i = 0; i < LISTENERS; i++) {
		listeners[i] = take_name("", i + 1, ".ud", SOCK_SEQPACKET | SOCK_NONBLOCK);
		CHECK(!listen(listeners[i], 1));
	}
	test_signal(control);
	test_await(control);
	for (int i = 0; i < LISTENERS; i++) {
		int fd = accept(listeners[i], NULL, NULL);
		char byte;

		CHECK(fd < 0 || recv(fd, &byte, 1, 0) == 0); /* at most a look at who listens */
	}
}

static void run(void)
{
	struct test_peer others = test_start_peer(crowd);
	struct ud_side ud;
	struct ibv_ah *ah;
	uint16_t port;
	int names[2];

	test_await(others.fd);
	open_ud_side(&ud, 4);
	port = ud.side.qp->qp_num >> 8;
	names[0] = take_member_name("00", port);
	names[1] = take_member_name("0", port);
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
	test_signal(others.fd);
	test_join_peer(&others);
}

int main(void)
{
	if (geteuid())
		test_skip("only root can start a process of another user");
	make_group_unique(&group);
	on_each_transport(run);
}

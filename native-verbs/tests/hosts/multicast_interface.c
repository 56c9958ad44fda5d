/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host sends to a group comes in by an interface that the receiver did not have yet when it joined, and by one that
 * has been taken away and made anew.
 */
#define _GNU_SOURCE
#include "hosts_fixture.h"
#include "ud_fixture.h"

#include <arpa/inet.h>

enum { LENGTH = 64, BUFFER = 512, TIMES = 2 };

#define HOST_0_LATE_V4 "10.78.0.1"
#define HOST_1_LATE_V4 "10.78.0.2"

static const union ibv_gid groups[] = {
	{.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 7, [15] = 8}},
	{.raw = {0xff, 0x0e, [15] = 0x78}},
};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

/* Its RoCE v2 entry, once the table has followed. */
static uint8_t await_address(struct ud_side *ud, const char *text)
{
	union ibv_gid wanted = {.raw = {[10] = 0xff, [11] = 0xff}};
	uint64_t deadline = test_now_ms() + WAIT_MS;

	CHECK_EQUAL(inet_pton(AF_INET, text, wanted.raw + 12), 1);
	for (;;) {
		union ibv_gid gid;

		for (int i = 1; !softverbs_ibv_query_gid(ud->side.context, 1, i, &gid); i += 2)
			if (!memcmp(&gid, &wanted, sizeof(gid)))
				return i;
		CHECK(test_now_ms() < deadline);
		usleep(1000);
	}
}

static void await_no_address(struct ud_side *ud, int index)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	union ibv_gid gid;

	do {
		CHECK(test_now_ms() < deadline);
		usleep(1000);
		gid = gid_at(ud, index);
	} while (gid.raw[12]);
}

/* One datagram of each group, which is known by its length, however often it is sent. */
static void expect_each(struct ud_side *ud)
{
	bool seen[GROUPS] = {false};

	do {
		struct ibv_wc wc;

		CHECK_EQUAL(post_receive(ud->side.qp, 1, sge_of(&ud->memory, 0, BUFFER)), 0);
		wc = wait_completion(ud->side.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK(wc.byte_len >= GRH_BYTES + LENGTH && wc.byte_len < GRH_BYTES + LENGTH + GROUPS);
		seen[wc.byte_len - GRH_BYTES - LENGTH] = true;
	} while (!seen[0] || !seen[1]);
}

static void receive_all(int fd)
{
	struct ud_side ud;

	open_ud_side(&ud, 16);
	for (int i = 0; i < GROUPS; i++)
		CHECK_EQUAL(softverbs_ibv_attach_mcast(ud.side.qp, &groups[i], 0), 0);
	for (int i = 0; i < TIMES; i++) {
		int index;

		test_signal(fd);
		test_await(fd);
		hosts_run("ip address add " HOST_1_LATE_V4 "/24 dev late");
		hosts_run("ip link set late up");
		index = await_address(&ud, HOST_1_LATE_V4);
		test_signal(fd);
		expect_each(&ud);
		test_signal(fd);
		ud_modify(ud.side.qp, IBV_QPS_RESET, 0, 0);
		ud_to_rts(ud.side.qp, QKEY);
sleep(2);system("grep -v \" 0$\" /proc/net/snmp6; cat /proc/net/dev");		hosts_run("ip link del late");
		await_no_address(&ud, index);
	}
	for (int i = 0; i < GROUPS; i++)
		CHECK_EQUAL(softverbs_ibv_detach_mcast(ud.side.qp, &groups[i], 0), 0);
	close_ud_side(&ud);
	check_no_leaks();
}

static void add_link(pid_t peer)
{
	hosts_run("ip link add late type veth peer name late netns %d", (int)peer);
	hosts_run("ip address add " HOST_0_LATE_V4 "/24 dev late");
	hosts_run("ip link set late up");
}

/* Until the receiver has one of each group: the first may come before the interface is up altogether. */
static void send_to_groups(int fd)
{
	struct ibv_ah *ah[GROUPS];
	struct ud_side ud;

	open_ud_side(&ud, 16);
	for (int i = 0; i < GROUPS; i++)
		ah[i] = ah_to(&ud, &groups[i], await_address(&ud, HOST_0_LATE_V4));
	do
		for (int i = 0; i < GROUPS; i++)
			ud_send(&ud, ah[i], 0xffffff, LENGTH + i);
	while (!test_readable(fd, 20));
	for (int i = 0; i < GROUPS; i++)
		CHECK_EQUAL(softverbs_ibv_destroy_ah(ah[i]), 0);
	close_ud_side(&ud);
}

int main(void)
{
	struct test_peer peer;

	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	peer = hosts_start(receive_all);
	for (int i = 0; i < TIMES; i++) {
		test_await(peer.fd);
		add_link(peer.pid);
		test_signal(peer.fd);
		test_await(peer.fd);
		send_to_groups(peer.fd);
		test_await(peer.fd);
	}
	test_join_peer(&peer);
}

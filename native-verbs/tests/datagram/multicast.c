/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datagram for a group reaches every queue pair of this host that is attached to it, in whatever process, and no other one;
 * without a secret only if its sender is of the same user, with one only if it knows that. Over IPv4 and IPv6.
 */
#include "ud_fixture.h"
#include "users.h"

enum { LENGTH = 3000, BUFFER = 8192 };

static union ibv_gid group, other_group;
static bool is_v6, by_stranger, has_secret;

static void set_groups(void)
{
	static const union ibv_gid v4 = {.raw = {[10] = 0xff, 0xff, 239, 77, 1, 1}};
	static const union ibv_gid v6 = {.raw = {0xff, 0x15, [15] = 77}};

	group = other_group = is_v6 ? v6 : v4;
	other_group.raw[15]++;
}

/* The first RoCE v2 entry of the group's family. */
static struct ibv_ah *ah_to_group(struct ud_side *ud)
{
	for (int i = 1;; i += 2) {
		union ibv_gid gid = gid_at(ud, i);

		if (is_v6 == !(gid.raw[10] == 0xff && gid.raw[11] == 0xff))
			return ah_to(ud, &group, i);
	}
}

static void send_to_group(int fd)
{
	struct ud_side ud;
	struct ibv_ah *ah;

	test_await(fd);
	if (has_secret)
		setenv("SOFTVERBS_SECRET", by_stranger ? "another one than the test's" : "the secret of this test", 1);
	else if (by_stranger)
		become_user(NOBODY);
	open_ud_side(&ud, 4);
	ah = ah_to_group(&ud);
	test_send(fd, &ud.side.qp->qp_num, sizeof(ud.side.qp->qp_num));
	fill_pattern(ud.memory.bytes, LENGTH, 5);
	ud_send_by(&ud, ah, 0xffffff, LENGTH);
	test_signal(fd);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	test_await(fd);
	close_ud_side(&ud);
}

static void expect_from(struct ud_side *ud, uint32_t qpn)
{
	uint8_t expected[LENGTH];

	CHECK_EQUAL(ud_expect(ud, LENGTH).src_qp, qpn);
	fill_pattern(expected, LENGTH, 5);
	CHECK(!memcmp(ud->memory.bytes + GRH_BYTES, expected, LENGTH));
	if (is_v6)
		CHECK(!memcmp(ud->memory.bytes + 24, &group, sizeof(group)));
}

static void hear(void)
{
	struct test_peer sender = test_start_peer(send_to_group);
	struct ud_side member, second, outsider;
	uint32_t qpn;

	if (has_secret)
		setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	set_groups();
	open_ud_side(&member, 4);
	open_ud_side(&second, 4);
	open_ud_side(&outsider, 4);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(member.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(second.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(second.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(outsider.side.qp, &other_group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(member.side.qp), EBUSY);
	ud_receive(&member, 1, BUFFER);
	ud_receive(&second, 1, BUFFER);
	ud_receive(&outsider, 1, BUFFER);
	test_signal(sender.fd);
	test_receive(sender.fd, &qpn, sizeof(qpn));
	test_await(sender.fd);
	if (by_stranger) {
		expect_quiet(member.side.cq);
	} else {
		expect_from(&member, qpn);
		expect_from(&second, qpn);
	}
	expect_quiet(outsider.side.cq);
	expect_no_completion(second.side.cq);
	test_finish_peer(&sender);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(member.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(member.side.qp, &group, 0), EINVAL);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(second.side.qp, &group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(outsider.side.qp, &other_group, 0), 0);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(member.side.qp, &(union ibv_gid){.raw = {0xfd}}, 0), EINVAL);
	close_ud_side(&member);
	close_ud_side(&second);
	close_ud_side(&outsider);
}

int main(void)
{
	for (int i = 0; i < 8; i++) {
		is_v6 = i & 1;
		has_secret = i & 2;
		by_stranger = i & 4;
		set_groups();
		if (!by_stranger || has_secret || !geteuid())
			test_run_apart(hear);
	}
}

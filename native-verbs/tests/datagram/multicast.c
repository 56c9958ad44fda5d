/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A datagram to a group reaches every queue pair that is attached to it once, in this process and in another one,
 * whatever kind of GID the group has; none that is not attached, or no more. Misuse is refused as the man page says.
 */
#include "ud_fixture.h"

enum { LENGTH = 64, BUFFER = 512 };

static union ibv_gid groups[] = {
	{.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 2, [15] = 3}},
	{.raw = {0xff, 0x0e, [15] = 0x77}},
	{.raw = {0xff, 0x01, [5] = 2, [6] = 201, [7] = 133}},
};

enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static void add_receive(struct ud_side *ud)
{
	CHECK_EQUAL(post_receive(ud->side.qp, 3, sge_of(&ud->memory, 0, BUFFER)), 0);
}

static void expect_copy(struct ud_side *ud, uint32_t source, uint8_t content)
{
	struct ibv_wc wc = wait_completion(ud->side.cq);

	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.src_qp, source);
	CHECK_EQUAL(wc.byte_len, GRH_BYTES + LENGTH);
	CHECK_EQUAL(wc.wc_flags, IBV_WC_GRH);
	CHECK_EQUAL(ud->memory.bytes[GRH_BYTES + LENGTH - 1], content);
}

/* Another process: attached to each group, it must see what is sent to it, once. */
static void listen_to_groups(int fd)
{
	struct ud_side ud;
	uint32_t source;

	open_ud_side(&ud, 16);
	test_receive(fd, &source, sizeof(source));
	for (int i = 0; i < GROUPS; i++) {
		CHECK_EQUAL(softverbs_ibv_attach_mcast(ud.side.qp, &groups[i], 0), 0);
		add_receive(&ud);
		add_receive(&ud);
		test_signal(fd);
		expect_copy(&ud, source, 'a' + i);
		expect_quiet(ud.side.cq);
		CHECK_EQUAL(softverbs_ibv_detach_mcast(ud.side.qp, &groups[i], 0), 0);
		test_signal(fd);
	}
	close_ud_side(&ud);
	check_no_leaks();
}

static void send_to(struct ud_side *from, const union ibv_gid *group, uint8_t content, uint32_t qkey)
{
	struct ibv_ah *ah = ah_to(from, group, 1);
	struct ibv_sge sge = sge_of(&from->memory, BUFFER, LENGTH);
	struct ibv_send_wr *bad, wr = ud_wr(ah, 0xffffff, 1, &sge);

	memset(from->memory.bytes + BUFFER, content, LENGTH);
	wr.wr.ud.remote_qkey = qkey;
	wr.send_flags = 0;
	CHECK_EQUAL(ibv_post_send(from->side.qp, &wr, &bad), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

static void misuse(struct ud_side *ud)
{
	struct ibv_qp_init_attr init = {.send_cq = ud->side.cq,
					.recv_cq = ud->side.cq,
					.cap = {1, 1, 1, 1, 0},
					.qp_type = IBV_QPT_RC};
	struct ibv_qp *connected = softverbs_ibv_create_qp(ud->side.pd, &init);
	union ibv_gid unicast = gid_at(ud, 1);

	CHECK(connected);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(connected, &groups[0], 0), EINVAL);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(ud->side.qp, &unicast, 0), EINVAL);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(ud->side.qp, &groups[1], 0), EINVAL);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(ud->side.qp, &groups[1], 0), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(ud->side.qp), EBUSY);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(ud->side.qp, &groups[1], 0), 0);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(ud->side.qp, &groups[1], 0), EINVAL);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(connected), 0);
}

/* IBV_QP_CREATE_BLOCK_SELF_MCAST_LB: others hear it, it does not. */
static void deaf_to_itself(struct ud_side *ud, struct ud_side *other)
{
	struct ibv_qp_init_attr_ex init = {.send_cq = ud->side.cq,
					   .recv_cq = ud->side.cq,
					   .cap = {4, 4, 1, 1, 0},
					   .qp_type = IBV_QPT_UD,
					   .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
					   .pd = ud->side.pd,
					   .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB};
	struct ibv_qp *usual = ud->side.qp;

	ud->side.qp = verbs_get_ctx(ud->side.context)->create_qp_ex(ud->side.context, &init);
	CHECK(ud->side.qp);
	ud_to_rts(ud->side.qp, QKEY);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(ud->side.qp, &groups[0], 0), 0);
	CHECK_EQUAL(softverbs_ibv_attach_mcast(other->side.qp, &groups[0], 0), 0);
	add_receive(ud);
	add_receive(other);
	send_to(ud, &groups[0], 'd', QKEY);
	expect_copy(other, ud->side.qp->qp_num, 'd');
	expect_quiet(ud->side.cq);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(ud->side.qp, &groups[0], 0), 0);
	CHECK_EQUAL(softverbs_ibv_detach_mcast(other->side.qp, &groups[0], 0), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(ud->side.qp), 0);
	ud->side.qp = usual;
}

static void run(void)
{
	struct test_peer child = test_start_peer(listen_to_groups);
	struct ud_side from, to;
	uint32_t source;

	open_ud_side(&from, 16);
	open_ud_side(&to, 16);
	source = from.side.qp->qp_num;
	misuse(&to);
	deaf_to_itself(&to, &from);
	test_send(child.fd, &source, sizeof(source));
	for (int i = 0; i < GROUPS; i++) {
		add_receive(&from);
		add_receive(&to);
		add_receive(&to);
		CHECK_EQUAL(softverbs_ibv_attach_mcast(from.side.qp, &groups[i], 0), 0);
		CHECK_EQUAL(softverbs_ibv_attach_mcast(to.side.qp, &groups[i], 0), 0);
		CHECK_EQUAL(softverbs_ibv_attach_mcast(to.side.qp, &groups[i], 0), 0);
		test_await(child.fd);
		send_to(&from, &groups[(i + 1) % GROUPS], 'x', QKEY);
		send_to(&from, &groups[i], 'y', QKEY + 1);
		send_to(&from, &groups[i], 'a' + i, QKEY);
		expect_copy(&to, source, 'a' + i);
		expect_copy(&from, source, 'a' + i);
		expect_quiet(to.side.cq);
		CHECK_EQUAL(softverbs_ibv_detach_mcast(to.side.qp, &groups[i], 0), 0);
		test_await(child.fd);
		add_receive(&from);
		send_to(&from, &groups[i], 'z', QKEY);
		expect_copy(&from, source, 'z');
		expect_quiet(to.side.cq);
		CHECK_EQUAL(softverbs_ibv_detach_mcast(from.side.qp, &groups[i], 0), 0);
		ud_modify(to.side.qp, IBV_QPS_RESET, 0, 0);
		ud_to_rts(to.side.qp, QKEY);
	}
	test_join_peer(&child);
	close_ud_side(&from);
	close_ud_side(&to);
	check_no_leaks();
}

int main(void)
{
	for (int i = 0; i < GROUPS; i++)
		make_group_unique(&groups[i]);
	on_each_transport(run);
}

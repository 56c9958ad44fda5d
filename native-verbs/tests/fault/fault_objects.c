/* SPDX-License-Identifier: Apache-2.0 */
/* The same for what not every program has: shared receive queues, address handles, windows, datagrams. */
#include "fault_fixture.h"
#include "ud_fixture.h"

static void creatingCallsFailOnce(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_recv_wr *bad, second = {.wr_id = 2}, first = {.wr_id = 1, .next = &second};
	struct ibv_ah_attr attr;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	struct ud_side ud;
	union ibv_gid gid;

	open_ud_side(&ud, 4);
	CHECK(!softverbs_ibv_create_srq(ud.side.pd, &init) && errno == ENOMEM);
	srq = softverbs_ibv_create_srq(ud.side.pd, &init);
	CHECK(srq);
	CHECK_EQUAL(ibv_post_srq_recv(srq, &first, &bad), ENOMEM);
	CHECK(bad == &second);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(srq), 0);
	gid = gid_at(&ud, 0);
	attr = ah_attr_to(&gid, 0);
	CHECK(!softverbs_ibv_create_ah(ud.side.pd, &attr) && errno == EHOSTUNREACH);
	CHECK(!ibv_alloc_mw(ud.side.pd, IBV_MW_TYPE_2) && errno == EPERM);
	mw = ibv_alloc_mw(ud.side.pd, IBV_MW_TYPE_2);
	CHECK(mw);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	close_ud_side(&ud);
}

/* Datagrams 2, 3 and 4 are lost, damaged, doubled. */
static void datagramsAreNotReliable(void)
{
	struct ud_side a, b;
	struct ibv_ah *ah;
	union ibv_gid gid;

	open_ud_side(&a, 8);
	open_ud_side(&b, 8);
	gid = gid_at(&b, 0);
	ah = ah_to(&a, &gid, 0);
	memset(a.memory.bytes, 0x20, 64);
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(post_receive(b.side.qp, i, sge_of(&b.memory, 1024 * i, 200)), 0);
	for (int i = 1; i <= 4; i++)
		ud_send(&a, ah, b.side.qp->qp_num, 64);
	for (int i = 0; i < 4; i++) {
		expect_completion(b.side.cq, i, IBV_WC_SUCCESS);
		CHECK_EQUAL(b.memory.bytes[1024 * i + GRH_BYTES + 5], i == 1 ? 0x21 : 0x20);
	}
	expect_no_completion(b.side.cq);
	CHECK_EQUAL(ud_post(&a, ah, b.side.qp->qp_num, 9, 64), 0);
	expect_completion(a.side.cq, 9, IBV_WC_LOC_PROT_ERR);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	close_ud_side(&a);
	close_ud_side(&b);
}

/* Completions of all datagrams at a member, whose bytes must be those that were sent; adds up those with the damage. */
static int take_datagrams(struct ud_side *ud, int *damaged)
{
	int count = 0;

	for (uint64_t end = test_now_ms() + QUIET_MS; test_now_ms() < end; usleep(1000)) {
		struct ibv_wc wc;

		if (ibv_poll_cq(ud->side.cq, 1, &wc) != 1)
			continue;
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		*damaged += ud->memory.bytes[1024 * wc.wr_id + GRH_BYTES + 5] == 0x21;
		count++;
	}
	return count;
}

/* The same for a group: each datagram is one at each member, and what happens to it there happens to no other. */
static void datagramsOfGroupsAreNotReliable(void)
{
	union ibv_gid group = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 9}};
	struct ud_side from, members[2];
	int damaged = 0, counts[2];
	struct ibv_ah *ah;

	make_group_unique(&group);
	open_ud_side(&from, 8);
	for (int i = 0; i < 2; i++) {
		open_ud_side(&members[i], 8);
		CHECK_EQUAL(softverbs_ibv_attach_mcast(members[i].side.qp, &group, 0), 0);
		for (int k = 0; k < 8; k++)
			CHECK_EQUAL(post_receive(members[i].side.qp, k, sge_of(&members[i].memory, 1024 * k, 200)), 0);
	}
	ah = ah_to(&from, &group, 0);
	memset(from.memory.bytes, 0x20, 64);
	for (int i = 1; i <= 4; i++)
		ud_send(&from, ah, 0xffffff, 64);
	for (int i = 0; i < 2; i++)
		counts[i] = take_datagrams(&members[i], &damaged);
	CHECK_EQUAL(counts[0] + counts[1], 8);
	CHECK(counts[0] != counts[1]); /* one lost its datagram, the other had one doubled */
	CHECK_EQUAL(damaged, 1);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(softverbs_ibv_detach_mcast(members[i].side.qp, &group, 0), 0);
		close_ud_side(&members[i]);
	}
	close_ud_side(&from);
}

static const struct fault_case cases[] = {
	{"create_srq:errno=ENOMEM;create_ah:errno=EHOSTUNREACH;alloc_mw:errno=EPERM;"
	 "post_srq_recv:errno=ENOMEM,nth=2", creatingCallsFailOnce, NULL},
	{"datagram:drop,nth=2;datagram:flip,offset=5,nth=3;datagram:duplicate,nth=4;wr:opcode=SEND,status=LOC_PROT_ERR,nth=5",
	 datagramsAreNotReliable, NULL},
	{"datagram:drop,nth=3;datagram:flip,offset=5,nth=5;datagram:duplicate,nth=8", datagramsOfGroupsAreNotReliable, NULL},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}

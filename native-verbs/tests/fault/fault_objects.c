/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of fault_calls for what not every program has: shared receive queues, address handles, windows, datagrams. */
#include "fault_fixture.h"
#include "ud_fixture.h"

static void createsFailOnce(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_recv_wr *bad, second = {.wr_id = 2}, first = {.wr_id = 1, .next = &second};
	struct ibv_ah_attr attr;
	struct ibv_srq *srq;
	struct ibv_mw *mw;
	struct ud_side ud;
	union ibv_gid gid;

	open_ud_side(&ud, 4);
	CHECK_REFUSED(softverbs_ibv_create_srq(ud.side.pd, &init), ENOMEM);
	srq = softverbs_ibv_create_srq(ud.side.pd, &init);
	CHECK(srq);
	CHECK_EQUAL(ibv_post_srq_recv(srq, &first, &bad), ENOMEM);
	CHECK(bad == &second);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(srq), 0);
	gid = gid_at(&ud, 0);
	attr = ah_attr_to(&gid, 0);
	CHECK_REFUSED(softverbs_ibv_create_ah(ud.side.pd, &attr), EHOSTUNREACH);
	CHECK_REFUSED(ibv_alloc_mw(ud.side.pd, IBV_MW_TYPE_2), EPERM);
	mw = ibv_alloc_mw(ud.side.pd, IBV_MW_TYPE_2);
	CHECK(mw);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	close_ud_side(&ud);
}

/* Datagrams 2, 3 and 4 are lost, damaged, doubled. */
static void datagramsAreNotReliable(void)
{
	struct ud_side a, b;

	open_ud_side(&a, 8);
	open_ud_side(&b, 8);
	memset(a.memory.bytes, 0x20, 64);
	for (int i = 0; i < 5; i++)
		CHECK_EQUAL(post_receive(b.side.qp, i, sge_of(&b.memory, 1024 * i, 200)), 0);
	for (int i = 1; i <= 4; i++)
		ud_send(&a, b.side.qp->qp_num, 64);
	for (int i = 0; i < 4; i++) {
		expect_completion(b.side.cq, i, IBV_WC_SUCCESS);
		CHECK_EQUAL(b.memory.bytes[1024 * i + GRH_BYTES + 5], i == 1 ? 0x21 : 0x20);
	}
	expect_no_completion(b.side.cq);
	ud_post(&a, b.side.qp->qp_num, 9, 64);
	expect_completion(a.side.cq, 9, IBV_WC_LOC_PROT_ERR);
	close_ud_side(&a);
	close_ud_side(&b);
}

static const struct fault_case cases[] = {
	{"create_srq:errno=ENOMEM;create_ah:errno=EHOSTUNREACH,nth=2;alloc_mw:errno=EPERM;"
	 "post_srq_recv:errno=ENOMEM,nth=2", .body = createsFailOnce},
	{"datagram:drop,nth=2;datagram:flip,offset=5,nth=3;datagram:duplicate,nth=4;wr:opcode=SEND,status=LOC_PROT_ERR,nth=5",
	 .body = datagramsAreNotReliable},
};

FAULT_MAIN(cases)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong with datagrams: the receiver drops what it may not or cannot take, and tells nobody; a send that
 * fails here completes with its cause, flushes what is behind it and leaves the queue pair in SQE, from which it
 * returns; a receive buffer that cannot be written ends it.
 */
#include "captured.h"
#include "ud_fixture.h"

static struct ud_side from, to;

/* A case between two sides that are open. */
#define UD_CASE(name)                     \
	static void name##_between(void); \
	CASE(name)                        \
	{                                 \
		open_ud_side(&from, 16);  \
		open_ud_side(&to, 16);    \
		name##_between();         \
		close_ud_side(&from);     \
		close_ud_side(&to);       \
		check_no_leaks();         \
	}                                 \
	static void name##_between(void)

static void send_with_key(uint32_t qkey)
{
	struct ibv_sge sge = sge_of(&from.memory, 0, 100);
	struct ibv_send_wr *bad, wr = ud_wr(from.ah, to.side.qp->qp_num, 1, &sge);

	wr.wr.ud.remote_qkey = qkey;
	CHECK_EQUAL(ibv_post_send(from.side.qp, &wr, &bad), 0);
	expect_completion(from.side.cq, 1, IBV_WC_SUCCESS);
}

UD_CASE(dropped_by_the_receiver)
{
	ud_send(&from, to.side.qp->qp_num, 100); /* no buffer */
	expect_quiet(to.side.cq);
	ud_receive(&to, 1, GRH_BYTES + 99);
	ud_send(&from, to.side.qp->qp_num, 100); /* too small: the next one that fits takes it */
	send_with_key(QKEY + 1);
	ud_send(&from, to.side.qp->qp_num ^ 1, 99); /* nobody */
	expect_quiet(to.side.cq);
	ud_send(&from, to.side.qp->qp_num, 99);
	expect_completion(to.side.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(to.side.qp), IBV_QPS_RTS);
}

/* A key with the high bit stands for the one of the queue pair. */
UD_CASE(controlled_key)
{
	ud_receive(&to, 2, 200);
	send_with_key(0x80000000u | (QKEY + 1));
	expect_completion(to.side.cq, 2, IBV_WC_SUCCESS);
}

/* The cause first, the rest flushed, the receive queue untouched; RTS again. */
static void fails_here(struct ibv_send_wr first, enum ibv_wc_status status)
{
	struct ibv_sge good = sge_of(&from.memory, 0, 8);
	struct ibv_send_wr *bad, last = ud_wr(from.ah, to.side.qp->qp_num, 3, &good);

	ud_receive(&from, 50, 200);
	first.next = &last;
	CHECK_EQUAL(ibv_post_send(from.side.qp, &first, &bad), 0);
	expect_completion(from.side.cq, 2, status);
	expect_completion(from.side.cq, 3, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(state_of(from.side.qp), IBV_QPS_SQE);
	ud_post(&from, to.side.qp->qp_num, 4, 8);
	expect_completion(from.side.cq, 4, IBV_WC_WR_FLUSH_ERR);
	ud_send(&to, from.side.qp->qp_num, 10);
	expect_completion(from.side.cq, 50, IBV_WC_SUCCESS);
	ud_modify(from.side.qp, IBV_QPS_RTS, 0, 0);
	ud_receive(&to, 7, 200);
	ud_send(&from, to.side.qp->qp_num, 10);
	expect_completion(to.side.cq, 7, IBV_WC_SUCCESS);
}

/* No packet goes out, and that is no error (IBA, C10-93.1.1). */
UD_CASE(too_long)
{
	ud_receive(&to, 1, GRH_BYTES + UD_MTU + 1);
	ud_send(&from, to.side.qp->qp_num, UD_MTU + 1);
	expect_quiet(to.side.cq);
	CHECK_EQUAL(state_of(from.side.qp), IBV_QPS_RTS);
	ud_send(&from, to.side.qp->qp_num, 10);
	ud_expect(&to, 10);
}

/* By the software device: of the first such datagram of a queue pair. */
UD_CASE(too_long_is_warned_of_once)
{
	struct capture capture;

	if (test_device())
		return;
	capture = capture_stderr();
	for (int i = 0; i < 3; i++)
		ud_send(&from, to.side.qp->qp_num, UD_MTU + 1);
	end_capture(&capture);
	CHECK_EQUAL(lines_with(capture.log, "longer than the MTU", ""), 1);
	fclose(capture.log);
}

UD_CASE(wrong_lkey)
{
	struct ibv_sge sge = sge_of(&from.memory, 0, 10);

	sge.lkey++;
	fails_here(ud_wr(from.ah, to.side.qp->qp_num, 2, &sge), IBV_WC_LOC_PROT_ERR);
}

/* The request may have other members where a datagram has its address: they are not looked at (but by rxe's library). */
UD_CASE(operations_of_connections)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						     IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND_WITH_INV};
	struct ibv_sge sge = sge_of(&from.memory, 0, 8);

	for (size_t i = 0; i < COUNT_OF(opcodes); i++) {
		struct ibv_send_wr wr = {.wr_id = 2,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = opcodes[i],
					 .wr.rdma = {.remote_addr = 8, .rkey = 1}};

		if (test_device())
			wr.wr.ud.ah = from.ah;
		fails_here(wr, IBV_WC_LOC_QP_OP_ERR);
	}
}

UD_CASE(address_handle_of_another_domain)
{
	union ibv_gid gid = gid_at(&from, 1);
	struct ibv_ah_attr attr = ah_attr_to(&gid, 1);
	struct ibv_sge sge = sge_of(&from.memory, 0, 8);
	struct ibv_ah *foreign = softverbs_ibv_create_ah(other_domain(&from.side), &attr);

	CHECK(foreign);
	fails_here(ud_wr(foreign, to.side.qp->qp_num, 2, &sge), IBV_WC_LOC_QP_OP_ERR);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(foreign), 0);
}

/* By the software device; others look at what stands in the handle. */
UD_CASE(address_handle_that_is_none)
{
	if (test_device())
		return;
	from.ah->handle ^= 0x5000;
	ud_post(&from, to.side.qp->qp_num, 1, 8);
	expect_completion(from.side.cq, 1, IBV_WC_LOC_QP_OP_ERR);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(from.ah), ENOENT);
	from.ah->handle ^= 0x5000;
	CHECK_EQUAL(ud_post_by(&from, NULL, to.side.qp->qp_num, 1, 8), EINVAL);
}

UD_CASE(addresses_that_are_none)
{
	union ibv_gid gid = gid_at(&from, 1);
	struct ibv_ah_attr attr = ah_attr_to(&gid, 1);

	attr.is_global = 0;
	CHECK(!softverbs_ibv_create_ah(from.side.pd, &attr) && errno == EINVAL);
	attr = ah_attr_to(&gid, 200);
	CHECK(!softverbs_ibv_create_ah(from.side.pd, &attr) && errno == EINVAL);
	attr = ah_attr_to(&gid, 1);
	attr.port_num = 2;
	CHECK(!softverbs_ibv_create_ah(from.side.pd, &attr) && errno == EINVAL);
}

UD_CASE(receive_buffer_cannot_be_written)
{
	struct ibv_sge sge = sge_of(&to.memory, 0, 200);

	sge.lkey++;
	CHECK_EQUAL(post_receive(to.side.qp, 8, sge), 0);
	ud_receive(&to, 9, 200);
	ud_send(&from, to.side.qp->qp_num, 10);
	expect_completion(to.side.cq, 8, IBV_WC_LOC_PROT_ERR);
	expect_completion(to.side.cq, 9, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(state_of(to.side.qp), IBV_QPS_ERR);
}

int main(void)
{
	setenv("SOFTVERBS_LOG", "warn", 1);
	with_and_without_secret(run_cases);
}

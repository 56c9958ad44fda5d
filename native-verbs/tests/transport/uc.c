/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable connections: SEND and WRITE that are complete when they are sent, and lost where they are not wanted. */
#include "softdev_fixture.h"

enum { BYTES = 1 << 20 };

/* The two ends count from different numbers, which nobody compares. */
#define ANY_PSN {.rq_psn = 7, .sq_psn = 9}
#define UC_CASE(name) PAIR_CASE(name, .type = IBV_QPT_UC, .bytes = BYTES, .a = ANY_PSN, .b = ANY_PSN)

static void send_from(struct pair *pair, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_SEND, wr_id, sge_of(pair->local, offset, length), 0, 0), 0);
}

UC_CASE(messagesArriveInOrder)
{
	for (int i = 0; i < 50; i++)
		CHECK_EQUAL(post_receive(pair->b.qp, i, sge_of(pair->remote, i * 64, i ? 64 : BYTES)), 0);
	pair_post(pair, IBV_WR_SEND, 0, BYTES);
	expect_completion(pair->b.cq, 0, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->local->bytes, pair->remote->bytes, BYTES));
	expect_completion(pair->a.cq, 0, IBV_WC_SUCCESS);
	for (int i = 1; i < 50; i++)
		send_from(pair, i, i, i);
	for (int i = 1; i < 50; i++) {
		CHECK_EQUAL(expect_completion(pair->b.cq, i, IBV_WC_SUCCESS).byte_len, i);
		CHECK(!memcmp(pair->remote->bytes + i * 64, pair->local->bytes + i, i));
		expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
	}
}

UC_CASE(messageWithoutAReceiverIsLost)
{
	pair_run(pair, IBV_WR_SEND, 1, 8, IBV_WC_SUCCESS);
	pair_run(pair, IBV_WR_RDMA_WRITE, 1, 8, IBV_WC_SUCCESS);
	AWAIT(!memcmp(pair->remote->bytes, pair->local->bytes, 8)); /* what came before it is lost by now */
	pair_receive(pair, 10, 4);
	pair_run(pair, IBV_WR_SEND, 2, 5, IBV_WC_SUCCESS); /* too long for that receive: lost as well */
	send_from(pair, 3, 100, 4);
	expect_completion(pair->a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 10, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair->remote->bytes, pair->local->bytes + 100, 4));
	CHECK_EQUAL(state_of(pair->b.qp), IBV_QPS_RTS);
}

UC_CASE(writeWithImmediateTellsTheReceiver)
{
	struct ibv_send_wr wr = {.wr_id = 5,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
				 .imm_data = htobe32(4711),
				 .wr.rdma = {(uintptr_t)pair->remote->bytes + 100, pair->remote->mr->rkey}};
	struct ibv_wc wc;

	pair_receive(pair, 6, 0);
	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, 0, 33)), 0);
	wc = expect_completion(pair->b.cq, 6, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQUAL(wc.imm_data, htobe32(4711));
	CHECK_EQUAL(wc.byte_len, 33);
	CHECK(!memcmp(pair->remote->bytes + 100, pair->local->bytes, 33));
	expect_completion(pair->a.cq, 5, IBV_WC_SUCCESS);
}

UC_CASE(forbiddenWriteIsLost)
{
	const struct ibv_sge from = sge_of(pair->local, 0, 8);
	const uint64_t to = (uintptr_t)pair->remote->bytes;
	const uint32_t rkey = pair->remote->mr->rkey;

	CHECK_EQUAL(post(pair->a.qp, IBV_WR_RDMA_WRITE, 1, from, to, rkey + 1), 0);
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_RDMA_WRITE, 2, from, to + BYTES - 4, rkey), 0);
	pair_receive(pair, 10, 8);
	send_from(pair, 3, 8, 1);
	expect_completions(pair->a.cq, 1, 3, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 10, IBV_WC_SUCCESS);
	for (int i = 1; i < 8; i++)
		CHECK_EQUAL(pair->remote->bytes[i] | pair->remote->bytes[BYTES - i], 0);
	CHECK(!test_readable(pair->b.context->async_fd, 0));
}

CASE(readsAndAtomicsFailWhenTheirTurnComes)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

	for (unsigned int i = 0; i < COUNT_OF(opcodes); i++) {
		struct pair pair;

		open_pair_as(&pair, &(struct pair_setup){.type = IBV_QPT_UC});
		pair_run(&pair, opcodes[i], 1, 8, IBV_WC_LOC_QP_OP_ERR);
		close_pair(&pair);
	}
}

/* The error of a sender stops its send queue alone, until it is told to go on. */
UC_CASE(badSenderStopsInSqe)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
	struct ibv_sge wrong_lkey = sge_of(pair->local, 0, 8);

	wrong_lkey.lkey++;
	CHECK_EQUAL(post_receive(pair->a.qp, 30, sge_of(pair->local, 0, 8)), 0);
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_SEND, 1, wrong_lkey, 0, 0), 0);
	expect_completion(pair->a.cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_SQE);
	pair_run(pair, IBV_WR_SEND, 2, 8, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(post(pair->b.qp, IBV_WR_SEND, 3, sge_of(pair->remote, 0, 8), 0, 0), 0);
	expect_completion(pair->a.cq, 30, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair->a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	pair_receive(pair, 31, 8);
	pair_run(pair, IBV_WR_SEND, 4, 8, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 3, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 31, IBV_WC_SUCCESS);
}

UC_CASE(badReceiverFailsAlone)
{
	struct ibv_sge wrong_lkey = sge_of(pair->remote, 0, 100);

	wrong_lkey.lkey++;
	CHECK_EQUAL(post_receive(pair->b.qp, 5, wrong_lkey), 0);
	pair_post(pair, IBV_WR_SEND, 1, 10);
	expect_completion(pair->b.cq, 5, IBV_WC_LOC_PROT_ERR);
	expect_state(pair->b.qp, IBV_QPS_ERR);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(pair->a.qp), IBV_QPS_RTS);
	/* And the sender does not learn of it. */
	pair_run(pair, IBV_WR_SEND, 2, 10, IBV_WC_SUCCESS);
}

UC_CASE(nobodyThereLosesAllAndTheNextOneArrives)
{
	const struct connection any_psn = ANY_PSN;
	struct address to_a = address_of(&pair->a);

	pair_receive(pair, 1, 8);
	pair_run(pair, IBV_WR_SEND, 1, 8, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 1, IBV_WC_SUCCESS);
	move_qp(pair->b.qp, IBV_QPS_RESET);
	for (int i = 2; i < 20; i++)
		pair_run(pair, IBV_WR_SEND, i, 8, IBV_WC_SUCCESS);
	to_init(pair->b.qp, ALL_REMOTE);
	to_rtr(pair->b.qp, &to_a, &any_psn);
	pair_receive(pair, 50, 8);
	pair_run(pair, IBV_WR_SEND, 50, 8, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 50, IBV_WC_SUCCESS);
}

/* A bind is not sent to anybody, so it is not lost with what is. */
UC_CASE(windowsAreBoundWithNobodyThere)
{
	struct ibv_send_wr *bad, wr = {.wr_id = 2, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct region *region = add_region(&pair->a, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	struct ibv_mw *mw = ibv_alloc_mw(pair->a.pd, IBV_MW_TYPE_2);

	CHECK(mw);
	move_qp(pair->b.qp, IBV_QPS_RESET);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info =
		(struct ibv_mw_bind_info){region->mr, (uintptr_t)region->bytes, 64, IBV_ACCESS_REMOTE_READ};
	pair_post(pair, IBV_WR_SEND, 1, 8);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
	pair_post(pair, IBV_WR_SEND, 3, 8);
	expect_completions(pair->a.cq, 1, 3, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(region->mr), EBUSY);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
}

MAIN(on_each_link, run_cases)

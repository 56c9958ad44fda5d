/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable connections: SEND and WRITE that are complete when they are sent, and lost where they are not wanted. */
#include "uc_side.h"

enum { BYTES = 1 << 20 };

struct scene {
	struct pair pair;
	struct region from, to;
};

static void open_scene(struct scene *scene)
{
	struct address to_a, to_b;

	open_side(&scene->pair.a, 256, 64);
	open_side(&scene->pair.b, 256, 64);
	create_uc_qp(&scene->pair.a);
	create_uc_qp(&scene->pair.b);
	to_a = address_of(&scene->pair.a);
	to_b = address_of(&scene->pair.b);
	uc_to_rtr(&scene->pair.a, &to_b);
	uc_to_rtr(&scene->pair.b, &to_a);
	uc_to_rts(&scene->pair.b);
	uc_to_rts(&scene->pair.a);
	scene->from = create_region(scene->pair.a.pd, BYTES, ALL_REMOTE);
	scene->to = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
	fill_pattern(scene->from.bytes, BYTES, 1);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->from);
	destroy_region(&scene->to);
	close_pair(&scene->pair);
}

static int send_bytes(struct scene *scene, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	return post(scene->pair.a.qp, IBV_WR_SEND, wr_id, sge_of(&scene->from, offset, length), 0, 0);
}

static int receive_bytes(struct scene *scene, uint64_t wr_id, uint32_t length)
{
	return post_receive(scene->pair.b.qp, wr_id, sge_of(&scene->to, 0, length));
}

CASE(messagesArriveInOrder)
{
	struct scene scene;

	open_scene(&scene);
	for (int i = 0; i < 50; i++)
		CHECK_EQUAL(post_receive(scene.pair.b.qp, i, sge_of(&scene.to, i * 64, i ? 64 : BYTES)), 0);
	CHECK_EQUAL(send_bytes(&scene, 0, 0, BYTES), 0);
	expect_completion(scene.pair.b.cq, 0, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene.from.bytes, scene.to.bytes, BYTES));
	expect_completion(scene.pair.a.cq, 0, IBV_WC_SUCCESS);
	for (int i = 1; i < 50; i++)
		CHECK_EQUAL(send_bytes(&scene, i, i, i), 0);
	for (int i = 1; i < 50; i++) {
		struct ibv_wc wc = wait_completion(scene.pair.b.cq);

		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.wr_id, i);
		CHECK_EQUAL(wc.byte_len, i);
		CHECK(!memcmp(scene.to.bytes + i * 64, scene.from.bytes + i, i));
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	}
	close_scene(&scene);
}

CASE(messageWithoutAReceiverIsLost)
{
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(send_bytes(&scene, 1, 0, 8), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	test_sleep_ms(50);
	CHECK_EQUAL(receive_bytes(&scene, 10, 4), 0);
	CHECK_EQUAL(send_bytes(&scene, 2, 0, 5), 0); /* too long for that receive: lost as well */
	CHECK_EQUAL(send_bytes(&scene, 3, 100, 4), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 10, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene.to.bytes, scene.from.bytes + 100, 4));
	CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
}

CASE(writeWithImmediateTellsTheReceiver)
{
	struct scene scene;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = {
					 .wr_id = 5,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					 .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
					 .imm_data = htobe32(4711),
				 };
	struct ibv_wc wc;

	open_scene(&scene);
	sge = sge_of(&scene.from, 0, 33);
	wr.wr.rdma.remote_addr = (uintptr_t)scene.to.bytes + 100;
	wr.wr.rdma.rkey = scene.to.mr->rkey;
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 6, sge_of(&scene.to, 0, 0)), 0);
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQUAL(wc.imm_data, htobe32(4711));
	CHECK_EQUAL(wc.byte_len, 33);
	CHECK(!memcmp(scene.to.bytes + 100, scene.from.bytes, 33));
	expect_completion(scene.pair.a.cq, 5, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(forbiddenWriteIsLost)
{
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_RDMA_WRITE, 1, sge_of(&scene.from, 0, 8),
			 (uintptr_t)scene.to.bytes, scene.to.mr->rkey + 1),
		    0);
	CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_RDMA_WRITE, 2, sge_of(&scene.from, 0, 8),
			 (uintptr_t)scene.to.bytes + BYTES - 4, scene.to.mr->rkey),
		    0);
	CHECK_EQUAL(receive_bytes(&scene, 10, 8), 0);
	CHECK_EQUAL(send_bytes(&scene, 3, 8, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 10, IBV_WC_SUCCESS);
	for (int i = 1; i < 8; i++)
		CHECK_EQUAL(scene.to.bytes[i] | scene.to.bytes[BYTES - i], 0);
	CHECK(!test_readable(scene.pair.b.context->async_fd, 0));
	close_scene(&scene);
}

CASE(readsAndAtomicsFailWhenTheirTurnComes)
{
	struct scene scene;

	for (int i = 0; i < 3; i++) {
		static const enum ibv_wr_opcode opcodes[] = {
			IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD};

		open_scene(&scene);
		CHECK_EQUAL(post(scene.pair.a.qp, opcodes[i], 1, sge_of(&scene.from, 0, 8),
				 (uintptr_t)scene.to.bytes, scene.to.mr->rkey),
			    0);
		expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_QP_OP_ERR);
		close_scene(&scene);
	}
}

/* The error of a sender stops its send queue alone, until it is told to go on. */
CASE(badSenderStopsInSqe)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE};
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 30, sge_of(&scene.from, 0, 8)), 0);
	sge = sge_of(&scene.from, 0, 8);
	sge.lkey++;
	CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_SEND, 1, sge, 0, 0), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQUAL(state_of(scene.pair.a.qp), IBV_QPS_SQE);
	CHECK_EQUAL(send_bytes(&scene, 2, 0, 8), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(post(scene.pair.b.qp, IBV_WR_SEND, 3, sge_of(&scene.to, 0, 8), 0, 0), 0);
	expect_completion(scene.pair.a.cq, 30, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
	CHECK_EQUAL(receive_bytes(&scene, 31, 8), 0);
	CHECK_EQUAL(send_bytes(&scene, 4, 0, 8), 0);
	expect_completion(scene.pair.a.cq, 4, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 31, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(badReceiverFailsAlone)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene);
	sge = sge_of(&scene.to, 0, 100);
	sge.lkey++;
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 0, 10), 0);
	expect_completion(scene.pair.b.cq, 5, IBV_WC_LOC_PROT_ERR);
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(scene.pair.a.qp), IBV_QPS_RTS);
	/* And the sender does not learn of it. */
	CHECK_EQUAL(send_bytes(&scene, 2, 0, 10), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(nobodyThereLosesAllAndTheNextOneArrives)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address to_a;
	struct scene scene;

	open_scene(&scene);
	CHECK_EQUAL(receive_bytes(&scene, 1, 8), 0);
	CHECK_EQUAL(send_bytes(&scene, 1, 0, 8), 0);
	expect_completion(scene.pair.b.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.b.qp, &reset, IBV_QP_STATE), 0);
	for (int i = 2; i < 20; i++) {
		CHECK_EQUAL(send_bytes(&scene, i, 0, 8), 0);
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	}
	to_a = address_of(&scene.pair.a);
	uc_to_rtr(&scene.pair.b, &to_a);
	CHECK_EQUAL(receive_bytes(&scene, 50, 8), 0);
	CHECK_EQUAL(send_bytes(&scene, 50, 0, 8), 0);
	expect_completion(scene.pair.a.cq, 50, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 50, IBV_WC_SUCCESS);
	close_scene(&scene);
}

/* A bind is not sent to anybody, so it is not lost with what is. */
CASE(windowsAreBoundWithNobodyThere)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_send_wr *bad, wr = {.wr_id = 2, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED};
	struct region region;
	struct scene scene;
	struct ibv_mw *mw;

	open_scene(&scene);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.b.qp, &reset, IBV_QP_STATE), 0);
	region = create_region(scene.pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	mw = ibv_alloc_mw(scene.pair.a.pd, IBV_MW_TYPE_2);
	CHECK(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){region.mr, (uintptr_t)region.bytes, 64, IBV_ACCESS_REMOTE_READ};
	CHECK_EQUAL(send_bytes(&scene, 1, 0, 8), 0);
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	CHECK_EQUAL(send_bytes(&scene, 3, 0, 8), 0);
	for (int i = 1; i <= 3; i++)
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(region.mr), EBUSY);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	destroy_region(&region);
	close_scene(&scene);
}

int main(void)
{
	on_each_link(run_cases);
}

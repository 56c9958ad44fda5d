/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of a queue pair: which moves there are, which attributes they need, and what posting does in each state. */
#include "softdev_fixture.h"

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC,
};

static struct ibv_qp_attr attributes(const struct side *side)
{
	struct address own = address_of(side);

	return (struct ibv_qp_attr){
		.port_num = 1,
		.qp_access_flags = ALL_REMOTE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = own.qpn,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 3,
		.min_rnr_timer = 5,
		.timeout = 14,
		.retry_cnt = 6,
		.rnr_retry = 7,
		.rq_psn = 0x654321,
		.sq_psn = 0x654321,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = own.gid, .hop_limit = 1}},
	};
}

static int move(struct side *side, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr attr = attributes(side);

	attr.qp_state = to;
	return softverbs_ibv_modify_qp(side->qp, &attr, mask);
}

static void go_to(struct side *side, enum ibv_qp_state state)
{
	CHECK_EQUAL(move(side, IBV_QPS_RESET, IBV_QP_STATE), 0);
	if (state == IBV_QPS_RESET)
		return;
	CHECK_EQUAL(move(side, IBV_QPS_INIT, TO_INIT), 0);
	if (state == IBV_QPS_INIT)
		return;
	CHECK_EQUAL(move(side, IBV_QPS_RTR, TO_RTR), 0);
	if (state == IBV_QPS_RTR)
		return;
	CHECK_EQUAL(move(side, IBV_QPS_RTS, TO_RTS), 0);
	if (state == IBV_QPS_RTS)
		return;
	CHECK_EQUAL(move(side, state, IBV_QP_STATE), 0);
}

static void everyMove(struct side *side)
{
	static const struct {
		enum ibv_qp_state from, to;
		int mask;
	} moves[] = {
		{IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT}, {IBV_QPS_INIT, IBV_QPS_INIT, IBV_QP_STATE},
		{IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR},	{IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS},
		{IBV_QPS_RTS, IBV_QPS_RTS, IBV_QP_STATE}, {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QP_STATE},
		{IBV_QPS_SQD, IBV_QPS_SQD, IBV_QP_STATE}, {IBV_QPS_SQD, IBV_QPS_RTS, IBV_QP_STATE},
	};
	static const enum ibv_qp_state states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						   IBV_QPS_RTS,	  IBV_QPS_SQD,	IBV_QPS_ERR};

	for (int from = 0; from < 6; from++)
		for (int to = 0; to < 6; to++) {
			int mask = IBV_QP_STATE;
			bool valid = states[to] == IBV_QPS_RESET ||
				     (states[to] == IBV_QPS_ERR && states[from] != IBV_QPS_RESET);

			for (unsigned int i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
				if (moves[i].from == states[from] && moves[i].to == states[to]) {
					valid = true;
					mask = moves[i].mask;
				}
			go_to(side, states[from]);
			CHECK_EQUAL(move(side, states[to], mask), valid ? 0 : EINVAL);
			CHECK_EQUAL(state_of(side->qp), states[valid ? to : from]);
		}
}

static void eachRequiredAttributeIsRequired(struct side *side)
{
	static const struct {
		enum ibv_qp_state from, to;
		int mask;
	} moves[] = {{IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT},
		     {IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR},
		     {IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS}};

	for (int i = 0; i < 3; i++) {
		go_to(side, moves[i].from);
		for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1)
			if (bit != IBV_QP_STATE && (moves[i].mask & bit))
				CHECK_EQUAL(move(side, moves[i].to, moves[i].mask & ~bit), EINVAL);
		CHECK_EQUAL(move(side, moves[i].to, moves[i].mask | IBV_QP_QKEY), EINVAL);
		CHECK_EQUAL(move(side, moves[i].to, moves[i].mask), 0);
	}
}

static void queryTellsWhatModifySet(struct side *side)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, narrow = {.qp_access_flags = IBV_ACCESS_REMOTE_READ};

	go_to(side, IBV_QPS_RTS);
	CHECK_EQUAL(softverbs_ibv_query_qp(side->qp, &attr, ~0, &init), 0);
	CHECK_EQUAL(attr.qp_access_flags, ALL_REMOTE);
	CHECK_EQUAL(attr.path_mtu, IBV_MTU_1024);
	CHECK_EQUAL(attr.rq_psn, 0x654321);
	CHECK_EQUAL(attr.sq_psn, 0x654321);
	CHECK_EQUAL(attr.max_rd_atomic, 3);
	CHECK_EQUAL(attr.max_dest_rd_atomic, 4);
	CHECK_EQUAL(attr.retry_cnt, 6);
	CHECK_EQUAL(attr.cap.max_send_wr, 4);
	CHECK(init.send_cq == side->cq && init.qp_type == IBV_QPT_RC);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &narrow, IBV_QP_ACCESS_FLAGS), 0);
	CHECK_EQUAL(softverbs_ibv_query_qp(side->qp, &attr, ~0, &init), 0);
	CHECK_EQUAL(attr.qp_access_flags, IBV_ACCESS_REMOTE_READ);
}

static void badValuesAreRefused(struct side *side)
{
	struct ibv_qp_attr attr = attributes(side);

	go_to(side, IBV_QPS_INIT);
	attr.qp_state = IBV_QPS_RTR;
	attr.ah_attr.is_global = 0;
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, TO_RTR), EINVAL);
	attr = attributes(side);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = 6;
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, TO_RTR), EINVAL);
	attr = attributes(side);
	attr.qp_state = IBV_QPS_RTR;
	attr.max_dest_rd_atomic = 17;
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, TO_RTR), EINVAL);
}

static void postingByState(struct side *side)
{
	struct region region = create_region(side->pd, 4096, ALL_REMOTE);
	struct ibv_sge sge = sge_of(&region, 0, 8);

	go_to(side, IBV_QPS_RESET);
	CHECK_EQUAL(post_receive(side->qp, 1, sge), EINVAL);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_INIT);
	CHECK_EQUAL(post_receive(side->qp, 1, sge), 0);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_RTR);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_SQD);
	CHECK_EQUAL(post(side->qp, IBV_WR_RDMA_READ, 2, sge, sge.addr, region.mr->rkey), 0);
	test_sleep_ms(20);
	expect_no_completion(side->cq);
	CHECK_EQUAL(move(side, IBV_QPS_RTS, IBV_QP_STATE), 0);
	expect_completion(side->cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_receive(side->qp, 3, sge), 0);
	CHECK_EQUAL(move(side, IBV_QPS_ERR, IBV_QP_STATE), 0);
	expect_completion(side->cq, 3, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 4, sge, 0, 0), 0);
	CHECK_EQUAL(post_receive(side->qp, 5, sge), 0);
	expect_completion(side->cq, 4, IBV_WC_WR_FLUSH_ERR);
	expect_completion(side->cq, 5, IBV_WC_WR_FLUSH_ERR);
	destroy_region(&region);
}

static void drainedQueueIsToldOnRequest(struct side *side)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};

	go_to(side, IBV_QPS_RTS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	expect_async(side, IBV_EVENT_SQ_DRAINED);
	CHECK(!test_readable(side->context->async_fd, 0));
}

static void resetTakesCompletionsBack(struct side *side)
{
	struct region region = create_region(side->pd, 4096, ALL_REMOTE);

	go_to(side, IBV_QPS_RTS);
	CHECK_EQUAL(move(side, IBV_QPS_ERR, IBV_QP_STATE), 0);
	CHECK_EQUAL(post_receive(side->qp, 1, sge_of(&region, 0, 8)), 0);
	CHECK_EQUAL(move(side, IBV_QPS_RESET, IBV_QP_STATE), 0);
	expect_no_completion(side->cq);
	destroy_region(&region);
}

static void unknownKindsAreRefused(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq, .recv_cq = side->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RAW_PACKET};

	CHECK(!softverbs_ibv_create_qp(side->pd, &init));
	CHECK_EQUAL(errno, EOPNOTSUPP);
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_sge = 17;
	CHECK(!softverbs_ibv_create_qp(side->pd, &init));
	CHECK_EQUAL(errno, EINVAL);
}

static void staleHandlesAreRefused(struct side *side)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	uint32_t handle = side->qp->handle;

	side->qp->handle = 0xdead;
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE), ENOENT);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), ENOENT);
	side->qp->handle = handle;
	handle = side->cq->handle;
	side->cq->handle = 0xdead;
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), ENOENT);
	side->cq->handle = handle;
	handle = side->pd->handle;
	side->pd->handle = 0xdead;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side->pd), ENOENT);
	side->pd->handle = handle;
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side->pd), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(side->channel), EBUSY);
}

int main(void)
{
	struct side side;

	alarm(TEST_SECONDS);
	open_side(&side, 16, 4);
	everyMove(&side);
	eachRequiredAttributeIsRequired(&side);
	queryTellsWhatModifySet(&side);
	badValuesAreRefused(&side);
	postingByState(&side);
	drainedQueueIsToldOnRequest(&side);
	resetTakesCompletionsBack(&side);
	unknownKindsAreRefused(&side);
	staleHandlesAreRefused(&side);
	close_side(&side);
	check_no_leaks();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What posting does in each state of a queue pair, and what moving it does to what is posted. */
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
	postingByState(&side);
	drainedQueueIsToldOnRequest(&side);
	resetTakesCompletionsBack(&side);
	unknownKindsAreRefused(&side);
	staleHandlesAreRefused(&side);
	close_side(&side);
	check_no_leaks();
}

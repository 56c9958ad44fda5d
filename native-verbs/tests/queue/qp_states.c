/* SPDX-License-Identifier: Apache-2.0 */
/* What posting does in each state of a queue pair, and what moving it does to what is posted. */
#include "softdev_fixture.h"

static void go_to(struct side *side, enum ibv_qp_state state)
{
	struct address own = address_of(side);
	struct connection usual = {0};

	move_qp(side->qp, IBV_QPS_RESET);
	if (state >= IBV_QPS_INIT)
		to_init(side->qp, ALL_REMOTE);
	if (state >= IBV_QPS_RTR)
		to_rtr(side->qp, &own, &usual);
	if (state >= IBV_QPS_RTS)
		to_rts(side->qp, &usual);
	if (state > IBV_QPS_RTS)
		move_qp(side->qp, state);
}

static void postingByState(struct side *side)
{
	struct region *region = add_region(side, 4096, ALL_REMOTE);
	struct ibv_sge sge = sge_of(region, 0, 8);

	go_to(side, IBV_QPS_RESET);
	CHECK_EQUAL(post_receive(side->qp, 1, sge), EINVAL);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_INIT);
	CHECK_EQUAL(post_receive(side->qp, 1, sge), 0);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_RTR);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 1, sge, 0, 0), EINVAL);
	go_to(side, IBV_QPS_SQD);
	CHECK_EQUAL(post(side->qp, IBV_WR_RDMA_READ, 2, sge, sge.addr, region->mr->rkey), 0);
	expect_silence(side->cq, 20);
	move_qp(side->qp, IBV_QPS_RTS);
	expect_completion(side->cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_receive(side->qp, 3, sge), 0);
	move_qp(side->qp, IBV_QPS_ERR);
	expect_completion(side->cq, 3, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQUAL(post(side->qp, IBV_WR_SEND, 4, sge, 0, 0), 0);
	CHECK_EQUAL(post_receive(side->qp, 5, sge), 0);
	expect_completions(side->cq, 4, 5, IBV_WC_WR_FLUSH_ERR);
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
	struct region *region = add_region(side, 4096, ALL_REMOTE);

	go_to(side, IBV_QPS_ERR);
	CHECK_EQUAL(post_receive(side->qp, 1, sge_of(region, 0, 8)), 0);
	move_qp(side->qp, IBV_QPS_RESET);
	expect_no_completion(side->cq);
}

static void unknownKindsAreRefused(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq, .recv_cq = side->cq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RAW_PACKET};

	CHECK_REFUSED(softverbs_ibv_create_qp(side->pd, &init), EOPNOTSUPP);
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_sge = 17;
	CHECK_REFUSED(softverbs_ibv_create_qp(side->pd, &init), EINVAL);
}

/* What is called with a handle that the device does not know. */
#define UNKNOWN(object, call)                     \
	do {                                      \
		uint32_t handle_ = (object)->handle; \
                                                  \
		(object)->handle = 0xdead;        \
		CHECK_EQUAL(call, ENOENT);        \
		(object)->handle = handle_;       \
	} while (0)

static void staleHandlesAreRefused(struct side *side)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	UNKNOWN(side->qp, softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE));
	UNKNOWN(side->qp, softverbs_ibv_destroy_qp(side->qp));
	UNKNOWN(side->cq, softverbs_ibv_destroy_cq(side->cq));
	UNKNOWN(side->pd, softverbs_ibv_dealloc_pd(side->pd));
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQD: what was sent is brought to its end, nothing else is begun, attributes may change, and RTS goes on where SQD
 * stopped.
 */
#include "softdev_fixture.h"

static int move(struct pair *pair, enum ibv_qp_state state, struct ibv_qp_attr attr, int mask)
{
	attr.qp_state = state;
	return softverbs_ibv_modify_qp(pair->a.qp, &attr, mask | IBV_QP_STATE);
}

static void exchange(struct pair *pair, uint64_t wr_id)
{
	pair_receive(pair, wr_id, 1);
	pair_run(pair, IBV_WR_SEND, wr_id, 1, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, wr_id, IBV_WC_SUCCESS);
}

/* The peer has no receive yet: the SEND is under way until it has. */
PAIR_CASE(drainingWaitsForWhatWasSent)
{
	struct ibv_qp_attr notify = {.en_sqd_async_notify = 1};

	exchange(pair, 1);
	pair_post(pair, IBV_WR_SEND, 2, 1);
	test_sleep_ms(30);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, notify, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	pair_post(pair, IBV_WR_SEND, 3, 1);
	CHECK(!test_readable(pair->a.context->async_fd, 50));
	CHECK(query_qp(pair->a.qp, IBV_QP_STATE).sq_draining);
	pair_receive(pair, 2, 1);
	pair_receive(pair, 3, 1);
	expect_async(&pair->a, IBV_EVENT_SQ_DRAINED);
	CHECK(!query_qp(pair->a.qp, IBV_QP_STATE).sq_draining);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 2, IBV_WC_SUCCESS);
	expect_silence(pair->b.cq, 20);
	CHECK_EQUAL(move(pair, IBV_QPS_RTS, (struct ibv_qp_attr){0}, 0), 0);
	expect_completion(pair->a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(pair->b.cq, 3, IBV_WC_SUCCESS);
	CHECK(!test_readable(pair->a.context->async_fd, 0));
}

PAIR_CASE(attributesChangeInSqd)
{
	struct ibv_qp_attr attr = {.timeout = 10, .retry_cnt = 3, .rnr_retry = 0, .max_rd_atomic = 1, .min_rnr_timer = 5,
				   .cur_qp_state = IBV_QPS_SQD};
	const int mask = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MIN_RNR_TIMER;

	exchange(pair, 1);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, mask), EINVAL);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, 0), 0);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, IBV_QP_RATE_LIMIT), EINVAL);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, mask), 0);
	attr.cur_qp_state = IBV_QPS_RTS;
	CHECK_EQUAL(move(pair, IBV_QPS_RTS, attr, IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_SQD;
	CHECK_EQUAL(move(pair, IBV_QPS_RTS, attr, IBV_QP_CUR_STATE), 0);
	exchange(pair, 2);
	pair_run(pair, IBV_WR_SEND, 3, 1, IBV_WC_RNR_RETRY_EXC_ERR); /* rnr_retry is 0 now */
}

/* The address is the one thing that must be right for the next request to arrive. */
PAIR_CASE(anotherPathIsTaken)
{
	struct ibv_qp_attr attr = {.timeout = 1, .retry_cnt = 1};
	union ibv_gid nobody = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 203, [14] = 113, [15] = 1}};
	union ibv_gid somebody;

	exchange(pair, 1);
	attr.ah_attr = query_qp(pair->a.qp, IBV_QP_STATE).ah_attr;
	somebody = attr.ah_attr.grh.dgid;
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, 0), 0);
	attr.ah_attr.grh.dgid = nobody;
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT), 0);
	attr.ah_attr.grh.dgid = somebody;
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, IBV_QP_AV), 0);
	CHECK_EQUAL(move(pair, IBV_QPS_RTS, attr, 0), 0);
	exchange(pair, 2);
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, 0), 0);
	attr.ah_attr.grh.dgid = nobody;
	CHECK_EQUAL(move(pair, IBV_QPS_SQD, attr, IBV_QP_AV), 0);
	CHECK_EQUAL(move(pair, IBV_QPS_RTS, attr, 0), 0);
	pair_run(pair, IBV_WR_SEND, 3, 1, IBV_WC_RETRY_EXC_ERR);
}

MAIN(on_each_path, run_cases)

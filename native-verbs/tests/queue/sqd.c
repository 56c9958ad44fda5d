/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQD: what was sent is brought to its end, nothing else is begun, attributes may change, and RTS goes on where SQD
 * stopped.
 */
#include "softdev_fixture.h"

enum { BYTES = 4096 };

struct scene {
	struct pair pair;
	struct region from, to;
};

static void open_scene(struct scene *scene)
{
	open_pair(&scene->pair, NULL, NULL);
	scene->from = create_region(scene->pair.a.pd, BYTES, ALL_REMOTE);
	scene->to = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->from);
	destroy_region(&scene->to);
	close_pair(&scene->pair);
}

static int send_byte(struct scene *scene, uint64_t wr_id)
{
	return post(scene->pair.a.qp, IBV_WR_SEND, wr_id, sge_of(&scene->from, wr_id, 1), 0, 0);
}

static int receive_byte(struct scene *scene, uint64_t wr_id)
{
	return post_receive(scene->pair.b.qp, wr_id, sge_of(&scene->to, wr_id, 1));
}

static int move(struct scene *scene, enum ibv_qp_state state, struct ibv_qp_attr attr, int mask)
{
	attr.qp_state = state;
	return softverbs_ibv_modify_qp(scene->pair.a.qp, &attr, mask | IBV_QP_STATE);
}

static struct ibv_qp_attr attributes_of(struct scene *scene)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQUAL(softverbs_ibv_query_qp(scene->pair.a.qp, &attr, IBV_QP_STATE, &init), 0);
	return attr;
}

static void exchange(struct scene *scene, uint64_t wr_id)
{
	CHECK_EQUAL(receive_byte(scene, wr_id), 0);
	CHECK_EQUAL(send_byte(scene, wr_id), 0);
	expect_completion(scene->pair.a.cq, wr_id, IBV_WC_SUCCESS);
	expect_completion(scene->pair.b.cq, wr_id, IBV_WC_SUCCESS);
}

/* The peer has no receive yet: the SEND is under way until it has. */
CASE(drainingWaitsForWhatWasSent)
{
	struct ibv_qp_attr notify = {.en_sqd_async_notify = 1};
	struct scene scene;

	open_scene(&scene);
	exchange(&scene, 1);
	CHECK_EQUAL(send_byte(&scene, 2), 0);
	test_sleep_ms(30);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, notify, IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	CHECK_EQUAL(send_byte(&scene, 3), 0);
	CHECK(!test_readable(scene.pair.a.context->async_fd, 50));
	CHECK(attributes_of(&scene).sq_draining);
	CHECK_EQUAL(receive_byte(&scene, 2), 0);
	CHECK_EQUAL(receive_byte(&scene, 3), 0);
	expect_async(&scene.pair.a, IBV_EVENT_SQ_DRAINED);
	CHECK(!attributes_of(&scene).sq_draining);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 2, IBV_WC_SUCCESS);
	test_sleep_ms(20);
	expect_no_completion(scene.pair.b.cq);
	CHECK_EQUAL(move(&scene, IBV_QPS_RTS, (struct ibv_qp_attr){0}, 0), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 3, IBV_WC_SUCCESS);
	CHECK(!test_readable(scene.pair.a.context->async_fd, 0));
	close_scene(&scene);
}

CASE(attributesChangeInSqd)
{
	struct ibv_qp_attr attr = {.timeout = 10, .retry_cnt = 3, .rnr_retry = 0, .max_rd_atomic = 1, .min_rnr_timer = 5,
				   .cur_qp_state = IBV_QPS_SQD};
	const int mask = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MIN_RNR_TIMER;
	struct ibv_qp_attr now;
	struct scene scene;

	open_scene(&scene);
	exchange(&scene, 1);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, mask), EINVAL);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, 0), 0);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, IBV_QP_RATE_LIMIT), EINVAL);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, mask), 0);
	now = attributes_of(&scene);
	CHECK_EQUAL(now.qp_state, IBV_QPS_SQD);
	CHECK_EQUAL(now.cur_qp_state, IBV_QPS_SQD);
	CHECK_EQUAL(now.timeout, 10);
	CHECK_EQUAL(now.retry_cnt, 3);
	CHECK_EQUAL(now.rnr_retry, 0);
	CHECK_EQUAL(now.max_rd_atomic, 1);
	CHECK_EQUAL(now.min_rnr_timer, 5);
	attr.cur_qp_state = IBV_QPS_RTS;
	CHECK_EQUAL(move(&scene, IBV_QPS_RTS, attr, IBV_QP_CUR_STATE), EINVAL);
	attr.cur_qp_state = IBV_QPS_SQD;
	CHECK_EQUAL(move(&scene, IBV_QPS_RTS, attr, IBV_QP_CUR_STATE), 0);
	exchange(&scene, 2);
	CHECK_EQUAL(send_byte(&scene, 3), 0); /* rnr_retry is 0 now */
	expect_completion(scene.pair.a.cq, 3, IBV_WC_RNR_RETRY_EXC_ERR);
	close_scene(&scene);
}

/* The address is the one thing that must be right for the next request to arrive. */
CASE(anotherPathIsTaken)
{
	struct ibv_qp_attr attr = {.timeout = 1, .retry_cnt = 1};
	union ibv_gid nobody = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 203, [14] = 113, [15] = 1}};
	union ibv_gid somebody;
	struct scene scene;

	open_scene(&scene);
	exchange(&scene, 1);
	attr.ah_attr = attributes_of(&scene).ah_attr;
	somebody = attr.ah_attr.grh.dgid;
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, 0), 0);
	attr.ah_attr.grh.dgid = nobody;
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT), 0);
	attr.ah_attr.grh.dgid = somebody;
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, IBV_QP_AV), 0);
	CHECK_EQUAL(move(&scene, IBV_QPS_RTS, attr, 0), 0);
	exchange(&scene, 2);
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, 0), 0);
	attr.ah_attr.grh.dgid = nobody;
	CHECK_EQUAL(move(&scene, IBV_QPS_SQD, attr, IBV_QP_AV), 0);
	CHECK_EQUAL(move(&scene, IBV_QPS_RTS, attr, 0), 0);
	CHECK_EQUAL(send_byte(&scene, 3), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_RETRY_EXC_ERR);
	close_scene(&scene);
}

int main(void)
{
	on_each_path(run_cases);
}

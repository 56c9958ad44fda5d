/* SPDX-License-Identifier: Apache-2.0 */
/* Completions that never come, come late with those behind them, come twice, or find the queue full. */
#include "fault_fixture.h"

static void isLost(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK_EQUAL(scene_read(&scene, 2), 0);
	CHECK_EQUAL(scene_read(&scene, 3), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_no_completion(scene.pair.a.cq);
	close_scene(&scene);
}

static void isLateAndKeepsTheOrder(void)
{
	struct fault_scene scene;
	uint64_t start;

	open_scene(&scene, NULL);
	start = test_now_ms();
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	CHECK_EQUAL(scene_read(&scene, 2), 0);
	expect_no_completion(scene.pair.a.cq);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(test_now_ms() - start >= 290);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_good_read(&scene, 3);
	close_scene(&scene);
}

/* What is held belongs to the queue pair: nothing of it comes when that is gone. */
static void isForgottenWithItsQueuePair(void)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &reset, IBV_QP_STATE), 0);
	test_sleep_ms(400);
	expect_no_completion(scene.pair.a.cq);
	close_scene(&scene);
}

static void comesTwice(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK_EQUAL(scene_read(&scene, 2), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	expect_good_read(&scene, 3);
	close_scene(&scene);
}

static void overrunsTheQueue(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(scene_read(&scene, 1), 0);
	expect_async(&scene.pair.a, IBV_EVENT_CQ_ERR);
	expect_state(scene.pair.a.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

/* The flush of a queue pair in error is swallowed. */
static void flushNeverArrives(void)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct fault_scene scene;

	open_scene(&scene, NULL);
	expect_good_read(&scene, 1);
	CHECK_EQUAL(post_receive(scene.pair.a.qp, 2, sge_of(&scene.sink, 0, 8)), 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &error, IBV_QP_STATE), 0);
	test_sleep_ms(50);
	expect_no_completion(scene.pair.a.cq);
	close_scene(&scene);
}

static void receiveIsLost(void)
{
	struct fault_scene scene;

	open_scene(&scene, NULL);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 1, sge_of(&scene.source, 0, 64)), 0);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 2, sge_of(&scene.source, 0, 64)), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 3, 64), 0);
	CHECK_EQUAL(scene_post(&scene, IBV_WR_SEND, 4, 64), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	expect_completion(scene.pair.a.cq, 4, IBV_WC_SUCCESS);
	expect_completion(scene.pair.b.cq, 2, IBV_WC_SUCCESS);
	expect_no_completion(scene.pair.b.cq);
	close_scene(&scene);
}

static const struct fault_case cases[] = {
	{"completion:drop,nth=2", isLost, NULL},
	{"completion:drop,opcode=READ,nth=2", isLost, "wire"},
	{"completion:delay=300", isLateAndKeepsTheOrder, NULL},
	{"completion:delay=300", isForgottenWithItsQueuePair, NULL},
	{"completion:duplicate,nth=2", comesTwice, NULL},
	{"completion:duplicate,delay=20,nth=2", comesTwice, "wire"},
	{"completion:overrun", overrunsTheQueue, NULL},
	{"completion:drop,result=WR_FLUSH_ERR,count=all", flushNeverArrives, NULL},
	{"completion:drop,opcode=RECV", receiveIsLost, NULL},
};

int main(int argc, char **argv)
{
	return RUN_FAULT_CASES(cases);
}

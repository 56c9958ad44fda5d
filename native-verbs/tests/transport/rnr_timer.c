/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's min_rnr_timer says how long the sender waits before it tries again, its own rnr_retry how often; 7 is for
 * ever; and an attempt that succeeds gives the retries back.
 */
#include "softdev_fixture.h"

enum { CODE_10_MS = 20, CODE_655_MS = 32, CODE_NOTHING = 1 }; /* 32: code 0, see open_scene() */

struct scene {
	struct pair pair;
	struct region from, to;
};

static void open_scene(struct scene *scene, uint8_t rnr_retry, uint8_t rnr_timer)
{
	const struct connection sender = {.rnr_retry = rnr_retry, .no_rnr_retry = !rnr_retry};
	const struct connection receiver = {.rnr_timer = rnr_timer % 32, .longest_rnr_timer = rnr_timer == CODE_655_MS};

	open_pair(&scene->pair, &sender, &receiver);
	scene->from = create_region(scene->pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	scene->to = create_region(scene->pair.b.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->from);
	destroy_region(&scene->to);
	close_pair(&scene->pair);
}

static int send_one(struct scene *scene, uint64_t wr_id)
{
	return post(scene->pair.a.qp, IBV_WR_SEND, wr_id, sge_of(&scene->from, 0, 8), 0, 0);
}

static uint64_t time_to_fail(uint8_t rnr_retry, uint8_t rnr_timer)
{
	struct scene scene;
	uint64_t start;

	open_scene(&scene, rnr_retry, rnr_timer);
	start = test_now_ms();
	CHECK_EQUAL(send_one(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	start = test_now_ms() - start;
	close_scene(&scene);
	return start;
}

CASE(retriesTakeTheReceiversTime)
{
	uint64_t three = time_to_fail(3, CODE_10_MS), one = time_to_fail(1, CODE_655_MS);

	CHECK(three >= 30 && three < 600);
	CHECK(one >= 655 && one < 5000);
	CHECK(time_to_fail(6, CODE_NOTHING) < 600);
	CHECK(time_to_fail(0, CODE_655_MS) < 600);
}

CASE(sevenIsForEver)
{
	struct scene scene;

	open_scene(&scene, 7, CODE_NOTHING);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(send_one(&scene, i), 0);
	test_sleep_ms(300);
	expect_no_completion(scene.pair.a.cq);
	for (int i = 0; i < 3; i++)
		CHECK_EQUAL(post_receive(scene.pair.b.qp, i, sge_of(&scene.to, 0, 8)), 0);
	for (int i = 0; i < 3; i++) {
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
		expect_completion(scene.pair.b.cq, i, IBV_WC_SUCCESS);
	}
	close_scene(&scene);
}

/* Each of the messages finds no receive at first; one retry is enough for all of them. */
CASE(successGivesTheRetriesBack)
{
	struct scene scene;

	open_scene(&scene, 1, CODE_655_MS);
	for (int i = 0; i < 2; i++) {
		CHECK_EQUAL(send_one(&scene, i), 0);
		test_sleep_ms(50);
		CHECK_EQUAL(post_receive(scene.pair.b.qp, i, sge_of(&scene.to, 0, 8)), 0);
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
		expect_completion(scene.pair.b.cq, i, IBV_WC_SUCCESS);
	}
	close_scene(&scene);
}

CASE(timerCanBeChangedWhileConnected)
{
	struct ibv_qp_attr attr = {.min_rnr_timer = CODE_10_MS};
	struct scene scene;
	uint64_t start;

	open_scene(&scene, 2, CODE_655_MS);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.b.qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	start = test_now_ms();
	CHECK_EQUAL(send_one(&scene, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start < 600);
	close_scene(&scene);
}

int main(void)
{
	alarm(TEST_SECONDS);
	run_cases();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's min_rnr_timer says how long the sender waits before it tries again, its own rnr_retry how often; 7 is for
 * ever; and an attempt that succeeds gives the retries back.
 */
#include "softdev_fixture.h"

enum { CODE_10_MS = 20, CODE_NOTHING = 1 };

#define CODE_655_MS .b.longest_rnr_timer = true

/* Nothing receives what is sent. */
static uint64_t time_to_fail(struct pair *pair)
{
	uint64_t start = test_now_ms();

	pair_run(pair, IBV_WR_SEND, 1, 8, IBV_WC_RNR_RETRY_EXC_ERR);
	return test_now_ms() - start;
}

PAIR_CASE(threeRetriesTakeTheReceiversTime, .a.rnr_retry = 3, .b.rnr_timer = CODE_10_MS)
{
	uint64_t took = time_to_fail(pair);

	CHECK(took >= 30 && took < 600);
}

PAIR_CASE(oneRetryTakesTheLongestTime, .a.rnr_retry = 1, CODE_655_MS)
{
	uint64_t took = time_to_fail(pair);

	CHECK(took >= 655 && took < 5000);
}

PAIR_CASE(shortestTimeIsShort, .a.rnr_retry = 6, .b.rnr_timer = CODE_NOTHING)
{
	CHECK(time_to_fail(pair) < 600);
}

PAIR_CASE(withoutARetryThereIsNoWait, .a.no_rnr_retry = true, CODE_655_MS)
{
	CHECK(time_to_fail(pair) < 600);
}

PAIR_CASE(timerCanBeChangedWhileConnected, .a.rnr_retry = 2, CODE_655_MS)
{
	struct ibv_qp_attr attr = {.min_rnr_timer = CODE_10_MS};

	CHECK_EQUAL(softverbs_ibv_modify_qp(pair->b.qp, &attr, IBV_QP_MIN_RNR_TIMER), 0);
	CHECK(time_to_fail(pair) < 600);
}

PAIR_CASE(sevenIsForEver, .a.rnr_retry = 7, .b.rnr_timer = CODE_NOTHING)
{
	for (int i = 0; i < 3; i++)
		pair_post(pair, IBV_WR_SEND, i, 8);
	expect_silence(pair->a.cq, 300);
	for (int i = 0; i < 3; i++)
		pair_receive(pair, i, 8);
	expect_completions(pair->a.cq, 0, 2, IBV_WC_SUCCESS);
	expect_completions(pair->b.cq, 0, 2, IBV_WC_SUCCESS);
}

/* Each of the messages finds no receive at first; one retry is enough for all of them. */
PAIR_CASE(successGivesTheRetriesBack, .a.rnr_retry = 1, CODE_655_MS)
{
	for (int i = 0; i < 2; i++) {
		pair_post(pair, IBV_WR_SEND, i, 8);
		expect_silence(pair->a.cq, 50);
		pair_receive(pair, i, 8);
		expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
		expect_completion(pair->b.cq, i, IBV_WC_SUCCESS);
	}
}

int main(void)
{
	alarm(TEST_SECONDS);
	run_cases();
}

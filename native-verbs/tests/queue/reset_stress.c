/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair is reset, every other time through ERR, while a thread posts READs to it: nothing completes afterwards, and it
 * connects again.
 */
#include "softdev_fixture.h"

#include <pthread.h>

enum { BYTES = 2000, ROUNDS = 60 };

static void *post_until_refused(void *argument)
{
	struct pair *pair = argument;
	int result;

	do {
		result = post_read(pair->a.qp, 1, pair->local, BYTES, (uintptr_t)pair->remote->bytes,
				   pair->remote->mr->rkey);
		CHECK(result == 0 || result == ENOMEM || result == EINVAL);
		if (result == ENOMEM)
			usleep(20);
	} while (result != EINVAL);
	return NULL;
}

static void drain(struct side *side)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(side->cq, 1, &wc) > 0)
		CHECK(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR);
}

static void body(void)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, post_until_refused, &pair));
		for (int i = 0; i < round % 8; i++) {
			usleep(300);
			drain(&pair.a);
		}
		if (round % 2)
			move_qp(pair.a.qp, IBV_QPS_ERR);
		move_qp(pair.a.qp, IBV_QPS_RESET);
		CHECK(!pthread_join(thread, NULL));
		move_qp(pair.b.qp, IBV_QPS_RESET);
		expect_no_completion(pair.a.cq);
		connect_sides(&pair.a, &pair.b, NULL, NULL);
	}
	close_pair(&pair);
}

MAIN(on_each_path, body)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads post to one queue pair, two more to its receive queue and to the other end's, a fifth polls, and either end is
 * moved to ERR at a random moment: whatever was posted completes once, in the order of its thread, and after the first
 * failure everything fails. In the first round that moment is when all requests have succeeded.
 * SOFTVERBS_TEST_SEED=N repeats the moments.
 */
#include "random.h"
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 8, POSTERS = 2, THREADS = POSTERS + 2, DEPTH = 64, BYTES = 65536, SPREAD_US = 4000 };

static struct pair pair;

/* A thread posts requests, or receives of either end; its wr_ids run from number << 32 on. */
struct poster {
	uint32_t number, posts;
};

/* What has completed of one thread. */
struct tally {
	uint32_t completed;
	bool failed;
};

static bool take_room(int error)
{
	CHECK(error == 0 || error == ENOMEM);
	if (error)
		usleep(50);
	return !error;
}

static void *post_requests(void *argument)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_SEND};
	struct poster *poster = argument;

	for (uint32_t i = 0; i < poster->posts;) {
		enum ibv_wr_opcode opcode = opcodes[(i * 7 + poster->number) % 3];
		struct ibv_sge sge = sge_of(pair.local, 0, opcode == IBV_WR_SEND ? 8 : 1 + (i * 131) % 5000);

		i += take_room(post(pair.a.qp, opcode, (uint64_t)poster->number << 32 | i, sge,
				    (uintptr_t)pair.remote->bytes, pair.remote->mr->rkey));
	}
	return NULL;
}

static void *post_receives(void *argument)
{
	struct poster *poster = argument;
	struct ibv_qp *qp = poster->number == POSTERS ? pair.a.qp : pair.b.qp;
	struct region *region = poster->number == POSTERS ? pair.local : pair.remote;

	for (uint32_t i = 0; i < poster->posts;)
		i += take_room(post_receive(qp, (uint64_t)poster->number << 32 | i, sge_of(region, BYTES - 8, 8)));
	return NULL;
}

static void count_completion(const struct ibv_wc *wc, struct tally *tallies, bool *send_queue_failed)
{
	uint32_t thread = wc->wr_id >> 32;
	struct tally *tally = &tallies[thread];

	CHECK(thread < THREADS);
	CHECK_EQUAL((uint32_t)wc->wr_id, tally->completed);
	tally->completed++;
	if (wc->status == IBV_WC_SUCCESS) {
		CHECK(!tally->failed);
		CHECK(thread >= POSTERS || !*send_queue_failed);
		return;
	}
	CHECK(wc->status == IBV_WC_WR_FLUSH_ERR ||
	      (wc->status == IBV_WC_RETRY_EXC_ERR && thread < POSTERS && !*send_queue_failed));
	tally->failed = true;
	*send_queue_failed |= thread < POSTERS;
}

static void play(bool calm)
{
	struct ibv_qp *end = pair.a.qp, *other = pair.b.qp;
	struct tally tallies[THREADS] = {{0}};
	struct poster posters[THREADS];
	pthread_t threads[THREADS];
	uint32_t posts = calm ? 1500 : 400, receives = 2 * posts;
	uint64_t fail_at = test_now_ms() * 1000 + next_random(SPREAD_US);
	bool failed = false, send_queue_failed = false, far_end = next_random(2);
	uint64_t deadline = test_now_ms() + WAIT_MS;

	if (far_end) {
		end = pair.b.qp;
		other = pair.a.qp;
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		posters[i] = (struct poster){i, i < POSTERS ? posts : receives};
		CHECK(!pthread_create(&threads[i], NULL, i < POSTERS ? post_requests : post_receives, &posters[i]));
	}
	for (uint32_t left = POSTERS * posts + 2 * receives; left;) {
		bool all_requests = tallies[0].completed + tallies[1].completed == POSTERS * posts;
		struct ibv_wc wc;

		CHECK(test_now_ms() < deadline);
		if (!failed && (calm ? all_requests : test_now_ms() * 1000 >= fail_at)) {
			CHECK(!send_queue_failed);
			failed = true;
			move_qp(end, IBV_QPS_ERR);
		}
		/* The other end is not told; without a request left to fail, nobody finds out. */
		if (failed && (!far_end || send_queue_failed || all_requests))
			move_qp(other, IBV_QPS_ERR);
		if (ibv_poll_cq(pair.a.cq, 1, &wc) == 1 || ibv_poll_cq(pair.b.cq, 1, &wc) == 1) {
			count_completion(&wc, tallies, &send_queue_failed);
			left--;
		}
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	expect_no_completion(pair.a.cq);
	expect_no_completion(pair.b.cq);
	CHECK(!test_readable(pair.a.context->async_fd, 0));
	CHECK(!test_readable(pair.b.context->async_fd, 0));
}

static void body(void)
{
	random_start();
	open_side(&pair.a, 4 * DEPTH, DEPTH);
	open_side(&pair.b, 4 * DEPTH, DEPTH);
	pair.local = add_region(&pair.a, BYTES, ALL_REMOTE);
	pair.remote = add_region(&pair.b, BYTES, ALL_REMOTE);
	for (int i = 0; i < ROUNDS; i++) {
		move_qp(pair.a.qp, IBV_QPS_RESET);
		move_qp(pair.b.qp, IBV_QPS_RESET);
		connect_sides(&pair.a, &pair.b, NULL, NULL);
		play(i == 0);
	}
	close_pair(&pair);
}

MAIN(on_each_path, body)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads post to one queue pair, two more to its receive queue and to the other end's, a fifth polls, and either end is
 * moved to ERR at a random moment: whatever was posted completes once, in the order of its thread, and after the first
 * failure everything fails. SOFTVERBS_TEST_SEED=N repeats the moments.
 */
#include "random.h"
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 8, POSTERS = 2, POSTS = 400, RECEIVES = 800, DEPTH = 64, BYTES = 65536, SPREAD_US = 4000 };

struct scene {
	struct pair pair;
	struct region local, remote;
};

struct poster {
	struct scene *scene;
	int thread;
	uint32_t posted;
};

/* What has completed of one thread: its wr_ids run from thread << 32 on. */
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
	struct scene *scene = poster->scene;

	for (uint32_t i = 0; i < POSTS;) {
		enum ibv_wr_opcode opcode = opcodes[(i * 7 + poster->thread) % 3];
		struct ibv_sge sge = sge_of(&scene->local, 0, opcode == IBV_WR_SEND ? 8 : 1 + (i * 131) % 5000);

		i += take_room(post(scene->pair.a.qp, opcode, (uint64_t)poster->thread << 32 | i, sge,
				    (uintptr_t)scene->remote.bytes, scene->remote.mr->rkey));
	}
	poster->posted = POSTS;
	return NULL;
}

static void *post_receives(void *argument)
{
	struct poster *poster = argument;
	struct side *side = poster->thread == POSTERS ? &poster->scene->pair.a : &poster->scene->pair.b;
	struct region *region = poster->thread == POSTERS ? &poster->scene->local : &poster->scene->remote;

	for (uint32_t i = 0; i < RECEIVES;)
		i += take_room(post_receive(side->qp, (uint64_t)poster->thread << 32 | i, sge_of(region, BYTES - 8, 8)));
	poster->posted = RECEIVES;
	return NULL;
}

static void count_completion(const struct ibv_wc *wc, struct tally *tallies, bool *send_queue_failed)
{
	uint32_t thread = wc->wr_id >> 32;
	struct tally *tally = &tallies[thread];

	CHECK(thread < POSTERS + 2);
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

static void play(struct scene *scene)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct side *a = &scene->pair.a, *b = &scene->pair.b;
	struct tally tallies[POSTERS + 2] = {{0}};
	struct poster posters[POSTERS + 2];
	pthread_t threads[POSTERS + 2];
	uint64_t fail_at = test_now_ms() * 1000 + next_random(SPREAD_US);
	bool failed = false, send_queue_failed = false, far_end = next_random(2);
	uint64_t deadline = test_now_ms() + WAIT_MS;

	for (int i = 0; i < POSTERS + 2; i++) {
		posters[i] = (struct poster){scene, i, 0};
		CHECK(!pthread_create(&threads[i], NULL, i < POSTERS ? post_requests : post_receives, &posters[i]));
	}
	for (int left = POSTERS * POSTS + 2 * RECEIVES; left;) {
		struct ibv_wc wc;

		CHECK(test_now_ms() < deadline);
		if (!failed && test_now_ms() * 1000 >= fail_at) {
			failed = true;
			CHECK_EQUAL(softverbs_ibv_modify_qp(far_end ? b->qp : a->qp, &error, IBV_QP_STATE), 0);
		}
		/* The other end is not told. */
		if (failed && (!far_end || send_queue_failed))
			CHECK_EQUAL(softverbs_ibv_modify_qp(far_end ? a->qp : b->qp, &error, IBV_QP_STATE), 0);
		if (ibv_poll_cq(a->cq, 1, &wc) == 1 || ibv_poll_cq(b->cq, 1, &wc) == 1) {
			count_completion(&wc, tallies, &send_queue_failed);
			left--;
		}
		/* Without a request left to fail, nobody finds out. */
		if (failed && far_end && tallies[0].completed + tallies[1].completed == POSTERS * POSTS)
			send_queue_failed = true;
	}
	for (int i = 0; i < POSTERS + 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	expect_no_completion(a->cq);
	expect_no_completion(b->cq);
	CHECK(!test_readable(a->context->async_fd, 0));
	CHECK(!test_readable(b->context->async_fd, 0));
}

static void connect_anew(struct scene *scene)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address to_a = address_of(&scene->pair.a), to_b = address_of(&scene->pair.b);

	CHECK_EQUAL(softverbs_ibv_modify_qp(scene->pair.a.qp, &reset, IBV_QP_STATE), 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene->pair.b.qp, &reset, IBV_QP_STATE), 0);
	connect_side(&scene->pair.b, &to_a, NULL);
	connect_side(&scene->pair.a, &to_b, NULL);
}

static void body(void)
{
	struct scene scene;

	random_start();
	open_side(&scene.pair.a, 4 * DEPTH, DEPTH);
	open_side(&scene.pair.b, 4 * DEPTH, DEPTH);
	scene.local = create_region(scene.pair.a.pd, BYTES, ALL_REMOTE);
	scene.remote = create_region(scene.pair.b.pd, BYTES, ALL_REMOTE);
	for (int i = 0; i < ROUNDS; i++) {
		connect_anew(&scene);
		play(&scene);
	}
	destroy_region(&scene.local);
	destroy_region(&scene.remote);
	close_pair(&scene.pair);
}

int main(void)
{
	on_each_path(body);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads post small READs one by one to queue pairs that share a completion queue, both look for completions, and a
 * third queue pair of it is destroyed and made anew with its READs still waiting: everything completes once, in order.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 2, ROUNDS = 120, BURST = 40, BYTES = 512 };

struct load {
	struct pair pair;
	struct ibv_qp *own[THREADS], *peer[THREADS];
	_Atomic uint64_t completed[THREADS];
	atomic_bool ended;
};

struct poster {
	struct load *load;
	int number;
};

/* Another two queue pairs of the two ends. */
static void add_connection(struct load *load, struct ibv_qp **own, struct ibv_qp **peer)
{
	struct side a = load->pair.a, b = load->pair.b;

	a.qp = *own = create_qp(&a, BURST);
	b.qp = *peer = create_qp(&b, 1);
	connect_sides(&a, &b, NULL, NULL);
}

static int post_one(struct load *load, struct ibv_qp *qp, uint64_t wr_id, int place)
{
	return post(qp, IBV_WR_RDMA_READ, wr_id, sge_of(load->pair.local, place * BYTES, BYTES),
		    (uintptr_t)load->pair.remote->bytes, load->pair.remote->mr->rkey);
}

/* Completions of the queue pair that comes and goes have wr_id UINT64_MAX. */
static void look(struct load *load)
{
	struct ibv_wc wc[8];
	int polled = ibv_poll_cq(load->pair.a.cq, 8, wc);

	for (int i = 0; i < polled; i++) {
		if (wc[i].wr_id == UINT64_MAX)
			continue;
		CHECK_EQUAL(wc[i].status, IBV_WC_SUCCESS);
		atomic_fetch_add(&load->completed[wc[i].wr_id], 1);
	}
}

static void *post_and_look(void *argument)
{
	struct poster *poster = argument;
	struct load *load = poster->load;
	uint64_t deadline = test_now_ms() + WAIT_MS, posted = 0;

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < BURST; i++, posted++)
			CHECK_EQUAL(post_one(load, load->own[poster->number], poster->number, poster->number),
				    0);
		while (atomic_load(&load->completed[poster->number]) < posted) {
			look(load);
			CHECK(test_now_ms() < deadline);
		}
	}
	return NULL;
}

static void *come_and_go(void *argument)
{
	struct load *load = argument;

	while (!atomic_load(&load->ended)) {
		struct ibv_qp *own, *peer;

		add_connection(load, &own, &peer);
		for (int i = 0; i < BURST; i++)
			CHECK_EQUAL(post_one(load, own, UINT64_MAX, THREADS), 0);
		usleep(500);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(own), 0);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(peer), 0);
	}
	return NULL;
}

static void body(void)
{
	static struct load load;
	struct poster posters[THREADS];
	pthread_t threads[THREADS + 1];

	open_pair_as(&load.pair, &(struct pair_setup){.bytes = (THREADS + 1) * BYTES});
	for (int i = 0; i < THREADS; i++) {
		add_connection(&load, &load.own[i], &load.peer[i]);
		posters[i] = (struct poster){&load, i};
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&threads[i], NULL, post_and_look, &posters[i]));
	CHECK(!pthread_create(&threads[THREADS], NULL, come_and_go, &load));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	atomic_store(&load.ended, true);
	CHECK(!pthread_join(threads[THREADS], NULL));
	for (int i = 0; i < THREADS; i++) {
		CHECK_EQUAL(softverbs_ibv_destroy_qp(load.own[i]), 0);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(load.peer[i]), 0);
	}
	close_pair(&load.pair);
}

MAIN(on_each_path, body)

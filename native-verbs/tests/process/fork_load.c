/* SPDX-License-Identifier: Apache-2.0 */
/* Forks while threads post, poll and register: no child hangs in a call, whatever lock was held, and no READ goes wrong. */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BYTES = 65536, CHILDREN = 40, AT_ONCE = 8 };

static struct pair pair;
static atomic_bool stop;

static void *read_on(void *unused)
{
	(void)unused;
	while (!atomic_load(&stop)) {
		for (int i = 0; i < AT_ONCE; i++)
			pair_post(&pair, IBV_WR_RDMA_READ, i, BYTES);
		expect_completions(pair.a.cq, 0, AT_ONCE - 1, IBV_WC_SUCCESS);
		CHECK(!memcmp(pair.local->bytes, pair.remote->bytes, BYTES));
	}
	return NULL;
}

static void *register_on(void *unused)
{
	static uint8_t bytes[4096];

	(void)unused;
	while (!atomic_load(&stop)) {
		struct ibv_mr *mr = softverbs_ibv_reg_mr(pair.a.pd, bytes, sizeof(bytes), 0);

		CHECK(mr);
		CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	}
	return NULL;
}

static _Noreturn void use_in_child(void)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;

	alarm(TEST_SECONDS);
	CHECK(ibv_poll_cq(pair.a.cq, 1, &wc) < 0);
	CHECK_EQUAL(post_read(pair.a.qp, 1, pair.local, 8, 4096, 1), EIO);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE), EIO);
	CHECK_EQUAL(softverbs_ibv_query_qp(pair.a.qp, &attr, IBV_QP_STATE, &init), EIO);
	CHECK(!softverbs_ibv_reg_mr(pair.a.pd, pair.local->bytes, 8, 0));
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair.local->mr), EIO);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pair.a.pd), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(pair.a.cq), EIO);
	_exit(0); /* what the other threads held is nobody's here: no leak check */
}

static void body(void)
{
	pthread_t reader, registrar;

	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	fill_pattern(pair.remote->bytes, BYTES, 5);
	CHECK(!pthread_create(&reader, NULL, read_on, NULL));
	CHECK(!pthread_create(&registrar, NULL, register_on, NULL));
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = test_fork();

		if (!child)
			use_in_child();
		test_join(child);
	}
	atomic_store(&stop, true);
	CHECK(!pthread_join(reader, NULL));
	CHECK(!pthread_join(registrar, NULL));
	close_pair(&pair);
}

MAIN(on_each_path, body)

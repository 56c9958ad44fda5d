/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread posts to a queue pair by ibv_wr_* and one by ibv_post_send, while two poll its extended completion queue by
 * start_poll and one by ibv_poll_cq: every request completes once.
 */
#define ibv_create_qp softverbs_ibv_create_qp /* what the inline ibv_create_qp_ex falls back on */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BATCHES = 300, BATCH = 4, OLD = BATCHES, TOTAL = BATCHES * BATCH + OLD, SLOTS = 64 };

static struct pair pair;
static atomic_int completed, seen[TOTAL];

static void settle(uint64_t wr_id, enum ibv_wc_status status)
{
	CHECK_EQUAL(status, IBV_WC_SUCCESS);
	CHECK(wr_id < TOTAL);
	CHECK_EQUAL(atomic_fetch_add(&seen[wr_id], 1), 0);
	atomic_fetch_add(&completed, 1);
}

static void *post_batches(void *unused)
{
	struct ibv_qp_ex *qp = softverbs_ibv_qp_to_qp_ex(pair.a.qp);
	uint64_t deadline = test_now_ms() + WAIT_MS;

	(void)unused;
	for (int i = 0; i < BATCHES; i++) {
		int error;

		do {
			ibv_wr_start(qp);
			for (int j = 0; j < BATCH; j++) {
				qp->wr_id = i * BATCH + j;
				qp->wr_flags = IBV_SEND_SIGNALED;
				ibv_wr_rdma_read(qp, pair.remote->mr->rkey, (uintptr_t)pair.remote->bytes);
				ibv_wr_set_sge(qp, pair.local->mr->lkey, (uintptr_t)pair.local->bytes, 64);
			}
			error = ibv_wr_complete(qp);
			CHECK(test_now_ms() < deadline);
		} while (error == ENOMEM);
		CHECK_EQUAL(error, 0);
	}
	return NULL;
}

static void *post_singly(void *unused)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;

	(void)unused;
	for (int i = 0; i < OLD; i++) {
		int error;

		do {
			error = post(pair.a.qp, IBV_WR_RDMA_WRITE, BATCHES * BATCH + i,
				     sge_of(pair.local, 1024, 64), (uintptr_t)pair.remote->bytes + 1024,
				     pair.remote->mr->rkey);
			CHECK(test_now_ms() < deadline);
		} while (error == ENOMEM);
		CHECK_EQUAL(error, 0);
	}
	return NULL;
}

static bool goes_on(uint64_t deadline)
{
	CHECK(test_now_ms() < deadline);
	return atomic_load(&completed) < TOTAL;
}

static void *poll_extended(void *unused)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)pair.a.cq;
	uint64_t deadline = test_now_ms() + WAIT_MS;

	(void)unused;
	while (goes_on(deadline)) {
		struct ibv_poll_cq_attr attr = {0};

		if (ibv_start_poll(cq, &attr))
			continue;
		do {
			settle(cq->wr_id, cq->status);
			CHECK_EQUAL(ibv_wc_read_opcode(cq),
				    cq->wr_id < BATCHES * BATCH ? IBV_WC_RDMA_READ : IBV_WC_RDMA_WRITE);
		} while (!ibv_next_poll(cq));
		ibv_end_poll(cq);
	}
	return NULL;
}

static void *poll_plainly(void *unused)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;
	struct ibv_wc wc[4];

	(void)unused;
	while (goes_on(deadline)) {
		int count = ibv_poll_cq(pair.a.cq, 4, wc);

		for (int i = 0; i < count; i++)
			settle(wc[i].wr_id, wc[i].status);
	}
	return NULL;
}

static void give_extended_objects(struct side *side)
{
	struct ibv_cq_init_attr_ex cq = {.cqe = 2 * SLOTS, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_qp_init_attr_ex qp = {
		.cap = {SLOTS, SLOTS, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = side->pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};

	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side->cq), 0);
	side->cq = ibv_cq_ex_to_cq(ibv_create_cq_ex(side->context, &cq));
	qp.send_cq = qp.recv_cq = side->cq;
	side->qp = ibv_create_qp_ex(side->context, &qp);
	CHECK(side->cq && side->qp);
}

static void body(void)
{
	static void *(*const roles[])(void *) = {post_batches, post_singly, poll_extended, poll_extended,
						 poll_plainly};
	enum { THREADS = COUNT_OF(roles) };
	pthread_t threads[THREADS];

	open_side(&pair.a, 8, 8);
	open_side(&pair.b, 8, 8);
	give_extended_objects(&pair.a);
	connect_sides(&pair.a, &pair.b, NULL, NULL);
	pair.local = add_region(&pair.a, 4096, ALL_REMOTE);
	pair.remote = add_region(&pair.b, 4096, ALL_REMOTE);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_create(&threads[i], NULL, roles[i], NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQUAL(pthread_join(threads[i], NULL), 0);
	CHECK_EQUAL(atomic_load(&completed), TOTAL);
	close_pair(&pair);
}

MAIN(on_each_path, body)

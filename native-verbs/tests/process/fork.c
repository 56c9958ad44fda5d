/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of a fork may not use what it inherited (EIO), before and after it has opened a device of its own; the parent goes on
 * as if nothing had happened.
 */
#include "softdev_fixture.h"

/* Every call on what was inherited; it may not wait for a thread that the child does not have. */
static void expect_refusals(struct pair *pair)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct side *a = &pair->a;
	struct ibv_wc wc;

	CHECK_REFUSED(softverbs_ibv_alloc_pd(a->context), EIO);
	CHECK_REFUSED(softverbs_ibv_reg_mr(a->pd, pair->local->bytes, 8, 0), EIO);
	CHECK_REFUSED(softverbs_ibv_create_cq(a->context, 1, NULL, NULL, 0), EIO);
	CHECK_REFUSED(softverbs_ibv_create_comp_channel(a->context), EIO);
	CHECK_EQUAL(post_read(a->qp, 1, pair->local, 8, 4096, 1), EIO);
	CHECK_EQUAL(post_receive(a->qp, 1, sge_of(pair->local, 0, 8)), EIO);
	CHECK_EQUAL(softverbs_ibv_modify_qp(a->qp, &attr, IBV_QP_STATE), EIO);
	CHECK(ibv_poll_cq(a->cq, 1, &wc) < 0);
	CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), EIO);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair->local->mr), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(a->qp), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(a->cq), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(a->channel), EIO);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(a->pd), EIO);
	CHECK_FAILS(softverbs_ibv_close_device(a->context), EIO);
}

static void expect_read(struct pair *pair, uint8_t byte)
{
	pair->remote->bytes[7] = byte;
	pair_run(pair, IBV_WR_RDMA_READ, 1, 8, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[7], byte);
}

/* The threads of the parent are not there, nor its descriptors: a READ between two queue pairs goes all the way. */
static _Noreturn void run_child(struct pair *inherited)
{
	struct pair own;

	alarm(TEST_SECONDS);
	expect_refusals(inherited);
	open_pair_as(&own, &(struct pair_setup){0});
	expect_read(&own, 42);
	close_pair(&own);
	expect_refusals(inherited);
	_exit(0);
}

static void body(void)
{
	struct pair pair;
	pid_t child;

	open_pair_as(&pair, &(struct pair_setup){0});
	expect_read(&pair, 98);
	child = test_fork();
	if (!child)
		run_child(&pair);
	test_join(child);
	expect_read(&pair, 99);
	close_pair(&pair);
}

MAIN(on_each_path, body)

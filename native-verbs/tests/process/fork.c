/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of a fork may not use what it inherited (EIO), before and after it has opened a device of its own; the parent goes on
 * as if nothing had happened.
 */
#include "softdev_fixture.h"

/* Every call on what was inherited; it may not wait for a thread that the child does not have. */
static void expect_refusals(struct pair *pair, struct region *sink)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_wc wc;

	CHECK(!softverbs_ibv_alloc_pd(pair->a.context));
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_ibv_reg_mr(pair->a.pd, sink->bytes, 8, 0));
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_ibv_create_cq(pair->a.context, 1, NULL, NULL, 0));
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_ibv_create_comp_channel(pair->a.context));
	CHECK_EQUAL(errno, EIO);
	CHECK_EQUAL(post_read(pair->a.qp, 1, sink, 8, 4096, 1), EIO);
	CHECK_EQUAL(post_receive(pair->a.qp, 1, sge_of(sink, 0, 8)), EIO);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair->a.qp, &attr, IBV_QP_STATE), EIO);
	CHECK(ibv_poll_cq(pair->a.cq, 1, &wc) < 0);
	CHECK_EQUAL(ibv_req_notify_cq(pair->a.cq, 0), EIO);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(sink->mr), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair->a.qp), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(pair->a.cq), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(pair->a.channel), EIO);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pair->a.pd), EIO);
	CHECK_EQUAL(softverbs_ibv_close_device(pair->a.context), -1);
	CHECK_EQUAL(errno, EIO);
}

/* The threads of the parent are not there, nor its descriptors: a READ between two queue pairs goes all the way. */
static void use_own_device(void)
{
	struct region sink, source;
	struct pair pair;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	source.bytes[7] = 42;
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink.bytes[7], 42);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

static _Noreturn void run_child(struct pair *inherited, struct region *sink)
{
	alarm(20);
	expect_refusals(inherited, sink);
	use_own_device();
	expect_refusals(inherited, sink);
	_exit(0);
}

static void body(void)
{
	struct region sink, source;
	struct pair pair;
	pid_t child;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	child = test_fork();
	if (!child)
		run_child(&pair, &sink);
	test_join(child);
	source.bytes[0] = 99;
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink.bytes[0], 99);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

int main(void)
{
	on_each_path(body);
}

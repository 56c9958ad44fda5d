/* SPDX-License-Identifier: Apache-2.0 */
/* The child of a fork may not use the device (EIO); the parent goes on as if nothing had happened. */
#include "softdev_fixture.h"

static void use_in_child(struct pair *pair, struct region *sink)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	CHECK(!softverbs_ibv_alloc_pd(pair->a.context));
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_ibv_reg_mr(pair->a.pd, sink->bytes, 8, 0));
	CHECK_EQUAL(errno, EIO);
	CHECK(!softverbs_ibv_create_cq(pair->a.context, 1, NULL, NULL, 0));
	CHECK_EQUAL(errno, EIO);
	CHECK_EQUAL(post_read(pair->a.qp, 1, sink, 8, 4096, 1), EIO);
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair->a.qp, &attr, IBV_QP_STATE), EIO);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair->a.qp), EIO);
}

static void body(void)
{
	struct region sink, source;
	struct pair pair;
	int status;
	pid_t child;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	child = fork();
	if (!child) {
		use_in_child(&pair, &sink);
		_exit(0);
	}
	CHECK_EQUAL(waitpid(child, &status, 0), child);
	CHECK_EQUAL(status, 0);
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
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A READ that ends with the status asked for, or that succeeds and brings a wrong bit or too few bytes. */
#include "fault_fixture.h"

static void secondOneFails(struct pair *pair)
{
	expect_good_read(pair, 1);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 64, IBV_WC_REM_OP_ERR);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

static void oneBitIsWrong(struct pair *pair)
{
	pair_run(pair, IBV_WR_RDMA_READ, 1, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[0], UNTOUCHED ^ 1);
	CHECK_EQUAL(pair->local->bytes[1], UNTOUCHED);
	pair_run(pair, IBV_WR_RDMA_READ, 2, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[0], UNTOUCHED);
}

/* The fault strikes the region, also one whose addresses begin at 0. */
static void zeroBasedSinkHasItsWrongBit(struct pair *pair)
{
	static const uint8_t wanted[] = {[8] = UNTOUCHED, UNTOUCHED ^ 1, [10 ... 15] = UNTOUCHED, [16] = 0};
	static uint8_t sink[64];
	struct ibv_mr *mr = softverbs_ibv_reg_mr(pair->a.pd, sink, sizeof(sink),
						 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED);

	CHECK(mr);
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_RDMA_READ, 1, (struct ibv_sge){8, 8, mr->lkey},
			 (uintptr_t)pair->remote->bytes, pair->remote->mr->rkey),
		    0);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(sink, wanted, sizeof(wanted)));
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
}

static void theEndOfTheDataIsMissing(struct pair *pair)
{
	memset(pair->local->bytes, 0, 64);
	pair_run(pair, IBV_WR_RDMA_READ, 1, 64, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[9], UNTOUCHED);
	CHECK_EQUAL(pair->local->bytes[10], 0);
	expect_good_read(pair, 2);
}

/* The peer of these READs is this process itself. */
static void readsOfThisProcessAreNoEvents(struct pair *pair)
{
	expect_good_read(pair, 1);
	expect_good_read(pair, 2);
}

static const struct fault_case cases[] = {
	{"read:status=11,nth=2", .between = secondOneFails},
	{"read:flip=1", .between = oneBitIsWrong},
	{"read:flip=1,remote", .between = readsOfThisProcessAreNoEvents},
	{"read:flip=1,offset=1", .between = zeroBasedSinkHasItsWrongBit},
	{"read:truncate=10", .between = theEndOfTheDataIsMissing, .path = "wire"},
	{"read:truncate=10", .between = theEndOfTheDataIsMissing, .path = "cma"},
};

FAULT_MAIN(cases)

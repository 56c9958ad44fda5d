/* SPDX-License-Identifier: Apache-2.0 */
/* What takes a short cut away in the middle costs the short cut and nothing else: the READ goes another way. */
#include "fault_fixture.h"

#include <pthread.h>

/* The third of four READs meets the refusal. */
static void expect_by_wire(struct pair *pair, uint64_t by_wire)
{
	for (int i = 1; i <= 4; i++)
		expect_good_read(pair, i);
	CHECK_EQUAL(counters_now().reads_wire, by_wire);
}

/* The kernel said no: it is not asked again. */
static void cmaIsForbidden(struct pair *pair)
{
	expect_by_wire(pair, 2);
}

/* What was found in the peer's memory came without files. */
static void filesTakeOver(struct pair *pair)
{
	struct region *file = keep_region(&pair->b, create_file_region(pair->b.pd, FAULT_BYTES, IBV_ACCESS_REMOTE_READ));

	for (int i = 1; i <= 4; i++)
		read_and_expect(&pair->a, i, pair->local, 64, (uintptr_t)file->bytes, file->mr->rkey, IBV_WC_SUCCESS);
	CHECK_EQUAL(counters_now().reads_cma, 2);
	CHECK_EQUAL(counters_now().reads_wire, 1);
	CHECK_EQUAL(counters_now().reads_file, 1);
}

static void oneReadIsRefused(struct pair *pair)
{
	expect_by_wire(pair, 1);
}

static void noDescriptorIsGiven(struct pair *pair)
{
	expect_by_wire(pair, 4);
}

static void *post_second_read(void *pair)
{
	pair_post(pair, IBV_WR_RDMA_READ, 2, 64);
	return NULL;
}

/* The region goes between the copy and the checks after it: the READ has not succeeded. */
static void theRegionGoesMeanwhile(struct pair *pair)
{
	volatile uint8_t *copied = &pair->local->bytes[63];
	pthread_t thread;
	uint64_t start;

	expect_good_read(pair, 1);
	*copied = 0;
	CHECK(!pthread_create(&thread, NULL, post_second_read, pair));
	AWAIT(*copied == UNTOUCHED);
	start = test_now_ms();
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair->remote->mr), 0);
	CHECK(test_now_ms() - start < 700);
	pair->remote->mr = NULL;
	expect_completion(pair->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	CHECK(!pthread_join(thread, NULL));
}

static const struct fault_case cases[] = {
	{"cma:errno=EPERM,nth=3", .between = cmaIsForbidden, .path = "cma"},
	{"cma:errno=ENOSYS,nth=3", .between = cmaIsForbidden, .path = "cma"},
	{"cma:errno=EPERM,nth=3", .between = filesTakeOver},
	{"cma:errno=EFAULT,nth=3", .between = oneReadIsRefused, .path = "cma"},
	{"file:errno=EIO,nth=3", .between = oneReadIsRefused, .path = "file"},
	{"cma:delay=1000,nth=2", .between = theRegionGoesMeanwhile, .path = "cma"},
	{"file:delay=1000,nth=2", .between = theRegionGoesMeanwhile, .path = "file"},
	{"share_file:errno=EMFILE", .between = noDescriptorIsGiven, .path = "file"},
};

FAULT_MAIN(cases)

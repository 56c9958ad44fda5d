/* SPDX-License-Identifier: Apache-2.0 */
/* On-demand regions: pages may come later, the whole address space can be one, and advice is checked. */
#include "softdev_fixture.h"

/* PAGE is one page of the largest size, or several. */
enum { PAGES = 16, PAGE = 64 << 10, LEAST_PAGE = 4096, ON_DEMAND = ALL_REMOTE | IBV_ACCESS_ON_DEMAND };

static int advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge sge)
{
	return ibv_advise_mr(pd, advice, flags, &sge, 1);
}

static void pagesMayComeAfterRegistration(struct pair *pair)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	struct region *there = pair->remote;
	uint8_t *reserved = mmap(NULL, PAGES * PAGE, PROT_NONE, flags | MAP_NORESERVE, -1, 0);
	struct ibv_mr *mr;
	struct ibv_sge sge;

	CHECK(reserved != MAP_FAILED);
	CHECK_REFUSED(softverbs_ibv_reg_mr(pair->a.pd, reserved, PAGES * PAGE, ALL_REMOTE), EFAULT);
	mr = softverbs_ibv_reg_mr(pair->a.pd, reserved, PAGES * PAGE, ON_DEMAND);
	CHECK(mr);
	CHECK(mmap(reserved, PAGES * PAGE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, -1, 0) == reserved);
	sge = (struct ibv_sge){(uintptr_t)reserved + PAGE, 512, mr->lkey};
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_RDMA_READ, 1, sge, (uintptr_t)there->bytes, there->mr->rkey), 0);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(reserved + PAGE, there->bytes, 512));
	CHECK_EQUAL(post(pair->b.qp, IBV_WR_RDMA_READ, 2, sge_of(there, 1024, 512), (uintptr_t)reserved + PAGE,
			 mr->rkey),
		    0);
	expect_completion(pair->b.cq, 2, IBV_WC_SUCCESS);
	CHECK(!memcmp(there->bytes + 1024, there->bytes, 512));
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	munmap(reserved, PAGES * PAGE);
}

static void theWholeAddressSpaceIsOneRegion(struct pair *pair)
{
	struct ibv_mr *mr = softverbs_ibv_reg_mr(pair->a.pd, NULL, SIZE_MAX, ON_DEMAND);
	static uint8_t anywhere[256];
	struct region *there = pair->remote;
	struct ibv_sge sge = {(uintptr_t)anywhere, sizeof(anywhere), 0};

	CHECK(mr);
	sge.lkey = mr->lkey;
	CHECK_EQUAL(post(pair->a.qp, IBV_WR_RDMA_READ, 3, sge, (uintptr_t)there->bytes, there->mr->rkey), 0);
	expect_completion(pair->a.cq, 3, IBV_WC_SUCCESS);
	CHECK(!memcmp(anywhere, there->bytes, sizeof(anywhere)));
	CHECK_EQUAL(post(pair->b.qp, IBV_WR_RDMA_READ, 4, sge_of(there, 2048, 256), (uintptr_t)anywhere, mr->rkey), 0);
	expect_completion(pair->b.cq, 4, IBV_WC_SUCCESS);
	CHECK(!memcmp(there->bytes + 2048, anywhere, sizeof(anywhere)));
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	CHECK_REFUSED(softverbs_ibv_reg_mr(pair->a.pd, NULL, SIZE_MAX, ALL_REMOTE), EINVAL);
}

static void adviceIsChecked(struct pair *pair)
{
	uint8_t *bytes = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_pd *pd = pair->a.pd;
	struct ibv_mr *mr = softverbs_ibv_reg_mr(pd, bytes, PAGES * PAGE, ON_DEMAND);
	struct ibv_mr *read_only = softverbs_ibv_reg_mr(pd, bytes, PAGES * PAGE, IBV_ACCESS_ON_DEMAND);
	struct ibv_sge all = {(uintptr_t)bytes, PAGES * PAGE, mr->lkey}, beyond = all, to_read = all;
	unsigned char present[PAGES * PAGE / LEAST_PAGE];

	CHECK(bytes != MAP_FAILED && mr && read_only);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, 0, all), 0);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, all), 0);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, all), 0);
	CHECK_EQUAL(mincore(bytes, PAGES * PAGE, present), 0);
	for (long i = 0; i < PAGES * PAGE / sysconf(_SC_PAGESIZE); i++)
		CHECK(present[i] & 1);
	CHECK_EQUAL(ibv_advise_mr(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0), 0);

	to_read.lkey = read_only->lkey;
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, to_read), 0);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, to_read), EPERM);
	CHECK_EQUAL(advise(pair->b.pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, all), EPERM);
	beyond.addr++;
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, beyond), EFAULT);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, sge_of(pair->local, 0, 8)), EINVAL);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 1u << 9, all), EINVAL);
	CHECK_EQUAL(advise(pd, (enum ibv_advise_mr_advice)77, 0, all), ENOTSUP);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(mr), 0);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, all), ENOENT);
	munmap(bytes + PAGE, PAGE);
	CHECK_EQUAL(advise(pd, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, to_read), EFAULT);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(read_only), 0);
	munmap(bytes, PAGES * PAGE);
}

static void body(void)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){0});
	fill_pattern(pair.remote->bytes, 512, 7);
	pagesMayComeAfterRegistration(&pair);
	theWholeAddressSpaceIsOneRegion(&pair);
	adviceIsChecked(&pair);
	close_pair(&pair);
}

MAIN(on_each_path, body)

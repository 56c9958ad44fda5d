/* SPDX-License-Identifier: Apache-2.0 */
/* Thread and parent domains: a parent domain stands for its protection domain, and what is in use stays. */
#include "softdev_fixture.h"

static struct ibv_pd *create(struct ibv_context *context, struct ibv_pd *pd, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .td = td};

	return ibv_alloc_parent_domain(context, &attr);
}

static void regionsOfTheProtectionDomainServeQueuePairsOfTheParentDomain(void)
{
	struct ibv_td_init_attr td_attr = {0};
	struct region sink, *source;
	struct ibv_pd *plain;
	struct ibv_td *td;
	struct pair pair;

	open_side(&pair.a, 64, 64);
	open_side(&pair.b, 64, 64);
	td = ibv_alloc_td(pair.a.context, &td_attr);
	CHECK(td);
	plain = pair.a.pd;
	pair.a.pd = create(pair.a.context, plain, td);
	CHECK(pair.a.pd);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair.a.qp), 0);
	pair.a.qp = create_qp(&pair.a, 64);
	CHECK(pair.a.qp->pd == pair.a.pd);
	connect_sides(&pair.a, &pair.b, NULL, NULL);
	sink = create_region(plain, 4096, ALL_REMOTE);
	source = add_region(&pair.b, 4096, ALL_REMOTE);

	read_and_expect(&pair.a, 1, &sink, 64, (uintptr_t)source->bytes, source->mr->rkey, IBV_WC_SUCCESS);
	read_and_expect(&pair.b, 2, source, 64, (uintptr_t)sink.bytes, sink.mr->rkey, IBV_WC_SUCCESS);

	CHECK_EQUAL(ibv_dealloc_td(td), EBUSY);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pair.a.pd), EBUSY);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(plain), EBUSY);
	destroy_region(&sink);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(pair.a.qp), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(plain), EBUSY);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pair.a.pd), 0);
	CHECK_EQUAL(ibv_dealloc_td(td), 0);
	pair.a.pd = plain;
	pair.a.qp = create_qp(&pair.a, 64);
	close_pair(&pair);
}

static void completionQueuesHoldTheirParentDomain(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = softverbs_ibv_alloc_pd(context), *parent = create(context, pd, NULL);
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	CHECK(cq);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(parent), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(parent), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

/* An allocator that counts, declines and fails on request. */
struct allocator {
	int live, calls;
	bool declines, fails;
};

static void *take(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t resource)
{
	struct allocator *allocator = context;
	void *memory = NULL;

	CHECK(pd && resource && alignment && size);
	allocator->calls++;
	if (allocator->declines)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (allocator->fails)
		return NULL;
	CHECK_EQUAL(posix_memalign(&memory, alignment, size), 0);
	memset(memory, 0xee, size); /* the device does not rely on what it gets */
	allocator->live++;
	return memory;
}

static void give_back(struct ibv_pd *pd, void *context, void *memory, uint64_t resource)
{
	struct allocator *allocator = context;

	CHECK(pd && resource && memory);
	allocator->live--;
	free(memory);
}

static void queuesLieInMemoryOfTheAllocator(bool declines)
{
	struct allocator allocator = {.declines = declines};
	struct ibv_parent_domain_init_attr attr = {
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = take,
		.free = give_back,
		.pd_context = &allocator,
	};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 8, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_pd *plain;
	struct ibv_cq_ex *cq;
	struct side side;

	open_side(&side, 64, 64);
	plain = side.pd;
	attr.pd = plain;
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	side.pd = ibv_alloc_parent_domain(side.context, &attr);
	CHECK(side.pd);
	side.qp = create_qp(&side, 64);
	cq_attr.parent_domain = side.pd;
	cq = ibv_create_cq_ex(side.context, &cq_attr);
	CHECK(cq);
	CHECK_EQUAL(softverbs_ibv_resize_cq(ibv_cq_ex_to_cq(cq), 16), 0);
	CHECK(allocator.calls >= 3 && (declines ? !allocator.live : allocator.live >= 2));
	CHECK_EQUAL(softverbs_ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);

	allocator.fails = !declines;
	if (allocator.fails)
		CHECK_REFUSED(ibv_create_cq_ex(side.context, &cq_attr), ENOMEM);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	CHECK_EQUAL(allocator.live, 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side.pd), 0);
	side.pd = plain;
	side.qp = create_qp(&side, 64);
	close_side(&side);
}

static void argumentsAreChecked(void)
{
	struct ibv_context *context = open_device();
	struct ibv_pd *pd = softverbs_ibv_alloc_pd(context), *parent = create(context, pd, NULL);
	struct ibv_parent_domain_init_attr attr = {.pd = pd, .comp_mask = 1u << 30};
	struct ibv_td_init_attr td_attr = {.comp_mask = 1};

	CHECK_REFUSED(create(context, NULL, NULL), EINVAL);
	CHECK_REFUSED(create(context, parent, NULL), EINVAL); /* not of a parent domain */
	CHECK_REFUSED(ibv_alloc_parent_domain(context, &attr), EINVAL);
	attr.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS; /* without functions */
	CHECK_REFUSED(ibv_alloc_parent_domain(context, &attr), EINVAL);
	CHECK_REFUSED(ibv_alloc_td(context, &td_attr), EINVAL);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(parent), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static void body(void)
{
	regionsOfTheProtectionDomainServeQueuePairsOfTheParentDomain();
	completionQueuesHoldTheirParentDomain();
	queuesLieInMemoryOfTheAllocator(false);
	queuesLieInMemoryOfTheAllocator(true);
	argumentsAreChecked();
	check_no_leaks();
}

MAIN(on_each_path, body)

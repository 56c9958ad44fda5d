/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows: the key of a window opens what it is bound to and nothing else, in the way it is bound, until it is
 * invalidated by either end, bound anew or given back.
 */
#include "softdev_fixture.h"

enum { BYTES = 65536, OFFSET = 4096, LENGTH = 8192 };
enum { BINDABLE = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND };
enum { ALL_RIGHTS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC };

static const struct connection with_atomics = {.access = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC};

/* `a` reads and writes through windows of `b`. */
struct scene {
	struct pair pair;
	struct region local, remote;
	struct ibv_mw *mw;
};

static void open_scene(struct scene *scene, enum ibv_mw_type type, int access)
{
	open_pair(&scene->pair, &with_atomics, &with_atomics);
	scene->local = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->remote = create_region(scene->pair.b.pd, BYTES, access);
	fill_pattern(scene->remote.bytes, BYTES, 3);
	scene->mw = ibv_alloc_mw(scene->pair.b.pd, type);
	CHECK(scene->mw && scene->mw->type == type && scene->mw->pd == scene->pair.b.pd);
}

static void close_scene(struct scene *scene)
{
	if (scene->mw)
		CHECK_EQUAL(ibv_dealloc_mw(scene->mw), 0);
	destroy_region(&scene->local);
	destroy_region(&scene->remote);
	close_pair(&scene->pair);
}

static struct ibv_mw_bind_info info_of(const struct scene *scene, uint64_t offset, uint64_t length, unsigned int access)
{
	return (struct ibv_mw_bind_info){.mr = scene->remote.mr,
					 .addr = (uintptr_t)scene->remote.bytes + offset,
					 .length = length,
					 .mw_access_flags = access};
}

static int bind_type_1(struct scene *scene, uint64_t offset, uint64_t length, unsigned int access)
{
	struct ibv_mw_bind bind = {.wr_id = 70,
				   .send_flags = IBV_SEND_SIGNALED,
				   .bind_info = info_of(scene, offset, length, access)};

	return ibv_bind_mw(scene->pair.b.qp, scene->mw, &bind);
}

static int bind_type_2(struct scene *scene, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *bad, wr = {.wr_id = 70,
				       .opcode = IBV_WR_BIND_MW,
				       .send_flags = IBV_SEND_SIGNALED,
				       .bind_mw = {.mw = scene->mw, .rkey = rkey, .bind_info = *info}};

	return ibv_post_send(scene->pair.b.qp, &wr, &bad);
}

static void expect_bound(struct scene *scene)
{
	struct ibv_wc wc = wait_completion(scene->pair.b.cq);

	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_BIND_MW);
	CHECK_EQUAL(wc.wr_id, 70);
}

static void expect_read(struct scene *scene, uint64_t address, uint32_t rkey, uint64_t offset)
{
	memset(scene->local.bytes, 0, 64);
	CHECK_EQUAL(post_read(scene->pair.a.qp, 1, &scene->local, 64, address, rkey), 0);
	expect_completion(scene->pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(scene->local.bytes, scene->remote.bytes + offset, 64));
}

static void expect_refused(struct scene *scene, enum ibv_wr_opcode opcode, uint64_t address, uint32_t rkey)
{
	CHECK_EQUAL(post(scene->pair.a.qp, opcode, 1, sge_of(&scene->local, 0, 8), address, rkey), 0);
	expect_completion(scene->pair.a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_async(&scene->pair.b, IBV_EVENT_QP_ACCESS_ERR);
}

static uint64_t address_in(const struct scene *scene, uint64_t offset)
{
	return (uintptr_t)scene->remote.bytes + offset;
}

CASE(type1OpensItsPart)
{
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	rkey = scene.mw->rkey;
	CHECK_EQUAL(bind_type_1(&scene, OFFSET, LENGTH, ALL_RIGHTS), 0);
	CHECK(scene.mw->rkey != rkey && scene.mw->rkey != scene.remote.mr->rkey);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, OFFSET), scene.mw->rkey, OFFSET);
	expect_read(&scene, address_in(&scene, OFFSET + LENGTH - 64), scene.mw->rkey, OFFSET + LENGTH - 64);
	memset(scene.local.bytes, 'w', 64);
	CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_RDMA_WRITE, 2, sge_of(&scene.local, 0, 64),
			 address_in(&scene, OFFSET), scene.mw->rkey),
		    0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene.remote.bytes[OFFSET + 63], 'w');
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, OFFSET - 1), scene.mw->rkey);
	close_scene(&scene);
	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	CHECK_EQUAL(bind_type_1(&scene, OFFSET, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	expect_refused(&scene, IBV_WR_RDMA_WRITE, address_in(&scene, OFFSET + LENGTH - 7), scene.mw->rkey);
	close_scene(&scene);
}

/* The region itself need not allow what its windows do. */
CASE(rightsAreThoseOfTheWindow)
{
	struct scene scene;

	open_scene(&scene, IBV_MW_TYPE_1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	CHECK_EQUAL(bind_type_1(&scene, 0, BYTES, IBV_ACCESS_REMOTE_READ), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, 0), scene.mw->rkey, 0);
	expect_refused(&scene, IBV_WR_RDMA_WRITE, address_in(&scene, 0), scene.mw->rkey);
	close_scene(&scene);
	open_scene(&scene, IBV_MW_TYPE_1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	CHECK_EQUAL(bind_type_1(&scene, 0, BYTES, IBV_ACCESS_REMOTE_WRITE), 0);
	expect_bound(&scene);
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, 0), scene.mw->rkey);
	close_scene(&scene);
}

CASE(bindingAnewEndsTheOldKey)
{
	struct scene scene;
	uint32_t first;

	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	CHECK_EQUAL(bind_type_1(&scene, 0, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	first = scene.mw->rkey;
	expect_read(&scene, address_in(&scene, 0), first, 0);
	CHECK_EQUAL(bind_type_1(&scene, OFFSET, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, OFFSET), scene.mw->rkey, OFFSET);
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, OFFSET), first);
	close_scene(&scene);
	/* Length 0 ends it without a successor. */
	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	CHECK_EQUAL(bind_type_1(&scene, 0, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene.remote.mr), EBUSY);
	CHECK_EQUAL(bind_type_1(&scene, 0, 0, 0), 0);
	expect_bound(&scene);
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, 0), scene.mw->rkey);
	close_scene(&scene);
}

CASE(windowGivenBackOpensNothing)
{
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(scene.pair.b.pd), EBUSY);
	CHECK_EQUAL(bind_type_1(&scene, 0, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	rkey = scene.mw->rkey;
	expect_read(&scene, address_in(&scene, 0), rkey, 0);
	CHECK_EQUAL(ibv_dealloc_mw(scene.mw), 0);
	scene.mw = NULL;
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, 0), rkey);
	close_scene(&scene);
}

CASE(type2IsForItsQueuePairAlone)
{
	struct address to_a, to_b;
	struct softverbs_counters before, after;
	struct side other_a, other_b;
	struct ibv_mw_bind_info info;
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	other_a = scene.pair.a;
	other_b = scene.pair.b;
	other_a.qp = create_qp(&other_a, 16);
	other_b.qp = create_qp(&other_b, 16);
	to_a = address_of(&other_a);
	to_b = address_of(&other_b);
	connect_side(&other_b, &to_a, NULL);
	connect_side(&other_a, &to_b, NULL);
	info = info_of(&scene, OFFSET, LENGTH, ALL_RIGHTS);
	rkey = ibv_inc_rkey(scene.mw->rkey);
	CHECK_EQUAL(bind_type_2(&scene, rkey, &info), 0);
	expect_bound(&scene);
	before = counters_now();
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	after = counters_now();
	if (test_path_is("cma"))
		CHECK_EQUAL(after.reads_cma, before.reads_cma + 1);
	CHECK_EQUAL(post_read(other_a.qp, 5, &scene.local, 8, address_in(&scene, OFFSET), rkey), 0);
	expect_completion(other_a.cq, 5, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(other_a.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(other_b.qp), 0);
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	close_scene(&scene);
}

/* Who binds chooses the low 8 bits of the key; the index above them stays. */
CASE(bindTakesTheLowBitsOfItsKeyAlone)
{
	struct ibv_mw_bind_info info;
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, OFFSET, LENGTH, ALL_RIGHTS);
	rkey = (scene.mw->rkey & ~0xffu) | 0x5a;
	CHECK_EQUAL(bind_type_2(&scene, ~scene.mw->rkey << 8 | 0x5a, &info), 0);
	expect_bound(&scene);
	if (!test_device()) /* rxe's library does not write it back */
		CHECK_EQUAL(scene.mw->rkey, rkey);
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	close_scene(&scene);
}

CASE(zeroBasedWindowsBeginAtZero)
{
	struct ibv_mw_bind_info info;
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, OFFSET, LENGTH, ALL_RIGHTS | IBV_ACCESS_ZERO_BASED);
	rkey = ibv_inc_rkey(scene.mw->rkey);
	CHECK_EQUAL(bind_type_2(&scene, rkey, &info), 0);
	expect_bound(&scene);
	expect_read(&scene, 0, rkey, OFFSET);
	expect_read(&scene, LENGTH - 64, rkey, OFFSET + LENGTH - 64);
	expect_refused(&scene, IBV_WR_RDMA_READ, LENGTH - 7, rkey);
	close_scene(&scene);
}

CASE(localInvalidateTakesTheAccessAway)
{
	struct ibv_send_wr *bad, wr = {.wr_id = 71, .opcode = IBV_WR_LOCAL_INV, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mw_bind_info info;
	struct scene scene;
	struct ibv_wc wc;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, OFFSET, LENGTH, ALL_RIGHTS);
	rkey = ibv_inc_rkey(scene.mw->rkey);
	CHECK_EQUAL(bind_type_2(&scene, rkey, &info), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	wr.invalidate_rkey = rkey;
	CHECK_EQUAL(ibv_post_send(scene.pair.b.qp, &wr, &bad), 0);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_LOCAL_INV);
	/* Free again, and so may be bound again. */
	rkey = ibv_inc_rkey(rkey);
	CHECK_EQUAL(bind_type_2(&scene, rkey, &info), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	wr.invalidate_rkey = rkey;
	CHECK_EQUAL(ibv_post_send(scene.pair.b.qp, &wr, &bad), 0);
	expect_completion(scene.pair.b.cq, 71, IBV_WC_SUCCESS);
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, OFFSET), rkey);
	close_scene(&scene);
	/* There is nothing of that key. */
	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	wr.invalidate_rkey = scene.remote.mr->rkey;
	CHECK_EQUAL(ibv_post_send(scene.pair.b.qp, &wr, &bad), 0);
	expect_completion(scene.pair.b.cq, 71, IBV_WC_MW_BIND_ERR);
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

static int send_with_invalidate(struct scene *scene, uint32_t rkey)
{
	struct ibv_sge sge = sge_of(&scene->local, 0, 5);
	struct ibv_send_wr *bad, wr = {.wr_id = 8,
				       .sg_list = &sge,
				       .num_sge = 1,
				       .opcode = IBV_WR_SEND_WITH_INV,
				       .send_flags = IBV_SEND_SIGNALED,
				       .invalidate_rkey = rkey};

	return ibv_post_send(scene->pair.a.qp, &wr, &bad);
}

CASE(theOtherEndMayInvalidate)
{
	struct ibv_mw_bind_info info;
	struct scene scene;
	struct ibv_wc wc;
	uint32_t rkey;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, OFFSET, LENGTH, ALL_RIGHTS);
	rkey = ibv_inc_rkey(scene.mw->rkey);
	CHECK_EQUAL(bind_type_2(&scene, rkey, &info), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, OFFSET), rkey, OFFSET);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 9, sge_of(&scene.remote, 0, 64)), 0);
	CHECK_EQUAL(send_with_invalidate(&scene, rkey), 0);
	wc = wait_completion(scene.pair.a.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_SEND);
	wc = wait_completion(scene.pair.b.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.wr_id, 9);
	CHECK_EQUAL(wc.byte_len, 5);
	CHECK_EQUAL(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQUAL(wc.invalidated_rkey, rkey);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene.remote.mr), 0); /* no window is bound any more */
	scene.remote.mr = NULL;
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, OFFSET), rkey);
	close_scene(&scene);
	/* But only what the queue pair has bound itself: no region, no window of type 1. */
	open_scene(&scene, IBV_MW_TYPE_1, BINDABLE);
	CHECK_EQUAL(bind_type_1(&scene, 0, LENGTH, ALL_RIGHTS), 0);
	expect_bound(&scene);
	CHECK_EQUAL(post_receive(scene.pair.b.qp, 9, sge_of(&scene.remote, 0, 64)), 0);
	CHECK_EQUAL(send_with_invalidate(&scene, scene.mw->rkey), 0);
	expect_completion(scene.pair.b.cq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_silence(scene.pair.a.cq, 200); /* a peer that is gone is noticed earlier */
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

static void expect_bind_error(enum ibv_mw_type type, int region_access, uint64_t offset, uint64_t length,
			      unsigned int access)
{
	struct ibv_mw_bind_info info;
	struct scene scene;

	open_scene(&scene, type, region_access);
	info = info_of(&scene, offset, length, access);
	if (type == IBV_MW_TYPE_1)
		CHECK_EQUAL(bind_type_1(&scene, offset, length, access), 0);
	else
		CHECK_EQUAL(bind_type_2(&scene, ibv_inc_rkey(scene.mw->rkey), &info), 0);
	expect_completion(scene.pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	close_scene(&scene);
}

CASE(wrongBindsFail)
{
	struct ibv_mw_bind_info info;
	struct scene scene;

	expect_bind_error(IBV_MW_TYPE_1, ALL_REMOTE, 0, LENGTH, IBV_ACCESS_REMOTE_READ);
	expect_bind_error(IBV_MW_TYPE_1, IBV_ACCESS_MW_BIND, 0, LENGTH, IBV_ACCESS_REMOTE_WRITE);
	expect_bind_error(IBV_MW_TYPE_1, IBV_ACCESS_MW_BIND, 0, LENGTH, IBV_ACCESS_REMOTE_ATOMIC);
	expect_bind_error(IBV_MW_TYPE_1, BINDABLE, BYTES - 8, 9, IBV_ACCESS_REMOTE_READ);
	expect_bind_error(IBV_MW_TYPE_1, BINDABLE, 0, LENGTH, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED);
	expect_bind_error(IBV_MW_TYPE_2, BINDABLE, 0, LENGTH, IBV_ACCESS_MW_BIND);
	expect_bind_error(IBV_MW_TYPE_2, BINDABLE, 0, 0, IBV_ACCESS_REMOTE_READ);
	/* A window of type 2 has to be invalidated first. */
	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, 0, LENGTH, ALL_RIGHTS);
	CHECK_EQUAL(bind_type_2(&scene, scene.mw->rkey, &info), 0);
	expect_bound(&scene);
	CHECK_EQUAL(bind_type_2(&scene, ibv_inc_rkey(scene.mw->rkey), &info), 0);
	expect_completion(scene.pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
	close_scene(&scene);
	/* What is no window is found when the bind is executed. */
	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, 0, LENGTH, ALL_RIGHTS);
	scene.mw->handle ^= 0x5000;
	CHECK_EQUAL(bind_type_2(&scene, scene.mw->rkey, &info), 0);
	expect_completion(scene.pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
	scene.mw->handle ^= 0x5000;
	close_scene(&scene);
}

/* Its number may be another queue pair's soon. */
CASE(resetEndsTheWindowsOfAQueuePair)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct ibv_mw_bind_info info;
	struct address to_a, to_b;
	struct scene scene;

	open_scene(&scene, IBV_MW_TYPE_2, BINDABLE);
	info = info_of(&scene, 0, LENGTH, ALL_RIGHTS);
	CHECK_EQUAL(bind_type_2(&scene, scene.mw->rkey, &info), 0);
	expect_bound(&scene);
	expect_read(&scene, address_in(&scene, 0), scene.mw->rkey, 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &reset, IBV_QP_STATE), 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.b.qp, &reset, IBV_QP_STATE), 0);
	to_a = address_of(&scene.pair.a);
	to_b = address_of(&scene.pair.b);
	connect_side(&scene.pair.b, &to_a, &with_atomics);
	connect_side(&scene.pair.a, &to_b, &with_atomics);
	expect_refused(&scene, IBV_WR_RDMA_READ, address_in(&scene, 0), scene.mw->rkey);
	close_scene(&scene);
}

int main(void)
{
	on_each_path(run_cases);
}

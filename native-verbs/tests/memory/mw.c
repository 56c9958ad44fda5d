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

/* `a` reads and writes through a window of `b`, which is NULL once it is given back. */
static struct pair pair;
static struct ibv_mw *mw;

static void open_scene(enum ibv_mw_type type, int access)
{
	open_pair_as(&pair, &(struct pair_setup){.a = with_atomics,
						 .b = with_atomics,
						 .bytes = BYTES,
						 .local_access = IBV_ACCESS_LOCAL_WRITE,
						 .remote_access = access});
	fill_pattern(pair.remote->bytes, BYTES, 3);
	mw = ibv_alloc_mw(pair.b.pd, type);
	CHECK(mw && mw->type == type && mw->pd == pair.b.pd);
}

static void close_scene(void)
{
	if (mw)
		CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	close_pair(&pair);
}

static void renew_scene(enum ibv_mw_type type, int access)
{
	close_scene();
	open_scene(type, access);
}

/* A case with an open scene, whose region allows this access. */
#define WINDOW_CASE(name, type, access)      \
	static void name##_in_scene(void);   \
	CASE(name)                           \
	{                                    \
		open_scene(type, access);    \
		name##_in_scene();           \
		close_scene();               \
	}                                    \
	static void name##_in_scene(void)

static uint64_t address_in(uint64_t offset)
{
	return (uintptr_t)pair.remote->bytes + offset;
}

/* A window of type 1 gets a key of the device's, one of type 2 this one. */
static int bind_window(uint32_t rkey, uint64_t offset, uint64_t length, unsigned int access)
{
	struct ibv_mw_bind_info info = {
		.mr = pair.remote->mr, .addr = address_in(offset), .length = length, .mw_access_flags = access};
	struct ibv_mw_bind bind = {.wr_id = 70, .send_flags = IBV_SEND_SIGNALED, .bind_info = info};
	struct ibv_send_wr *bad, wr = {.wr_id = 70,
				       .opcode = IBV_WR_BIND_MW,
				       .send_flags = IBV_SEND_SIGNALED,
				       .bind_mw = {.mw = mw, .rkey = rkey, .bind_info = info}};

	return mw->type == IBV_MW_TYPE_1 ? ibv_bind_mw(pair.b.qp, mw, &bind) : ibv_post_send(pair.b.qp, &wr, &bad);
}

/* The bind succeeds, and the window has this key if it is of type 2. */
static void bind_as(uint32_t rkey, uint64_t offset, uint64_t length, unsigned int access)
{
	CHECK_EQUAL(bind_window(rkey, offset, length, access), 0);
	CHECK_EQUAL(expect_completion(pair.b.cq, 70, IBV_WC_SUCCESS).opcode, IBV_WC_BIND_MW);
}

/* The bind succeeds; the key. */
static uint32_t bind_anew(uint64_t offset, uint64_t length, unsigned int access)
{
	uint32_t next = ibv_inc_rkey(mw->rkey);

	bind_as(next, offset, length, access);
	return mw->type == IBV_MW_TYPE_1 ? mw->rkey : next;
}

static void expect_read(uint64_t address, uint32_t rkey, uint64_t offset)
{
	memset(pair.local->bytes, 0, 64);
	read_and_expect(&pair.a, 1, pair.local, 64, address, rkey, IBV_WC_SUCCESS);
	CHECK(!memcmp(pair.local->bytes, pair.remote->bytes + offset, 64));
}

static void expect_refused(enum ibv_wr_opcode opcode, uint64_t address, uint32_t rkey)
{
	CHECK_EQUAL(post(pair.a.qp, opcode, 1, sge_of(pair.local, 0, 8), address, rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_async(&pair.b, IBV_EVENT_QP_ACCESS_ERR);
}

WINDOW_CASE(type1OpensItsPart, IBV_MW_TYPE_1, BINDABLE)
{
	uint32_t unbound = mw->rkey, rkey;

	CHECK_EQUAL(bind_window(0, OFFSET, LENGTH, ALL_RIGHTS), 0);
	rkey = mw->rkey;
	CHECK(rkey != unbound && rkey != pair.remote->mr->rkey); /* before the bind has completed */
	expect_completion(pair.b.cq, 70, IBV_WC_SUCCESS);
	expect_read(address_in(OFFSET), rkey, OFFSET);
	expect_read(address_in(OFFSET + LENGTH - 64), rkey, OFFSET + LENGTH - 64);
	memset(pair.local->bytes, 'w', 64);
	CHECK_EQUAL(post(pair.a.qp, IBV_WR_RDMA_WRITE, 2, sge_of(pair.local, 0, 64), address_in(OFFSET), rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair.remote->bytes[OFFSET + 63], 'w');
	expect_refused(IBV_WR_RDMA_READ, address_in(OFFSET - 1), rkey);
	renew_scene(IBV_MW_TYPE_1, BINDABLE);
	rkey = bind_anew(OFFSET, LENGTH, ALL_RIGHTS);
	expect_refused(IBV_WR_RDMA_WRITE, address_in(OFFSET + LENGTH - 7), rkey);
}

/* The region itself need not allow what its windows do. */
WINDOW_CASE(rightsAreThoseOfTheWindow, IBV_MW_TYPE_1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)
{
	uint32_t rkey = bind_anew(0, BYTES, IBV_ACCESS_REMOTE_READ);

	expect_read(address_in(0), rkey, 0);
	expect_refused(IBV_WR_RDMA_WRITE, address_in(0), rkey);
	renew_scene(IBV_MW_TYPE_1, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	rkey = bind_anew(0, BYTES, IBV_ACCESS_REMOTE_WRITE);
	expect_refused(IBV_WR_RDMA_READ, address_in(0), rkey);
}

WINDOW_CASE(bindingAnewEndsTheOldKey, IBV_MW_TYPE_1, BINDABLE)
{
	uint32_t first = bind_anew(0, LENGTH, ALL_RIGHTS), second;

	expect_read(address_in(0), first, 0);
	second = bind_anew(OFFSET, LENGTH, ALL_RIGHTS);
	expect_read(address_in(OFFSET), second, OFFSET);
	expect_refused(IBV_WR_RDMA_READ, address_in(OFFSET), first);
	/* Length 0 ends it without a successor. */
	renew_scene(IBV_MW_TYPE_1, BINDABLE);
	bind_anew(0, LENGTH, ALL_RIGHTS);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair.remote->mr), EBUSY);
	bind_anew(0, 0, 0);
	expect_refused(IBV_WR_RDMA_READ, address_in(0), mw->rkey);
}

WINDOW_CASE(windowGivenBackOpensNothing, IBV_MW_TYPE_1, BINDABLE)
{
	uint32_t rkey;

	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pair.b.pd), EBUSY);
	rkey = bind_anew(0, LENGTH, ALL_RIGHTS);
	expect_read(address_in(0), rkey, 0);
	CHECK_EQUAL(ibv_dealloc_mw(mw), 0);
	mw = NULL;
	expect_refused(IBV_WR_RDMA_READ, address_in(0), rkey);
}

WINDOW_CASE(type2IsForItsQueuePairAlone, IBV_MW_TYPE_2, BINDABLE)
{
	uint32_t rkey = bind_anew(OFFSET, LENGTH, ALL_RIGHTS);
	struct side other_a = pair.a, other_b = pair.b;
	uint64_t by_cma;

	other_a.qp = create_qp(&other_a, 16);
	other_b.qp = create_qp(&other_b, 16);
	connect_sides(&other_a, &other_b, NULL, NULL);
	by_cma = counters_now().reads_cma;
	expect_read(address_in(OFFSET), rkey, OFFSET);
	if (test_path_is("cma"))
		CHECK_EQUAL(counters_now().reads_cma, by_cma + 1);
	read_and_expect(&other_a, 5, pair.local, 8, address_in(OFFSET), rkey, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(other_a.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(other_b.qp), 0);
	expect_read(address_in(OFFSET), rkey, OFFSET);
}

/* Who binds chooses the low 8 bits of the key; the index above them stays. */
WINDOW_CASE(bindTakesTheLowBitsOfItsKeyAlone, IBV_MW_TYPE_2, BINDABLE)
{
	uint32_t rkey = (mw->rkey & ~0xffu) | 0x5a;

	bind_as(~mw->rkey << 8 | 0x5a, OFFSET, LENGTH, ALL_RIGHTS);
	if (!test_device()) /* rxe's library does not write it back */
		CHECK_EQUAL(mw->rkey, rkey);
	expect_read(address_in(OFFSET), rkey, OFFSET);
}

WINDOW_CASE(zeroBasedWindowsBeginAtZero, IBV_MW_TYPE_2, BINDABLE)
{
	uint32_t rkey = bind_anew(OFFSET, LENGTH, ALL_RIGHTS | IBV_ACCESS_ZERO_BASED);

	expect_read(0, rkey, OFFSET);
	expect_read(LENGTH - 64, rkey, OFFSET + LENGTH - 64);
	expect_refused(IBV_WR_RDMA_READ, LENGTH - 7, rkey);
}

static struct ibv_wc invalidate(uint32_t rkey, enum ibv_wc_status status)
{
	struct ibv_send_wr *bad, wr = {.wr_id = 71,
				       .opcode = IBV_WR_LOCAL_INV,
				       .send_flags = IBV_SEND_SIGNALED,
				       .invalidate_rkey = rkey};

	CHECK_EQUAL(ibv_post_send(pair.b.qp, &wr, &bad), 0);
	return expect_completion(pair.b.cq, 71, status);
}

WINDOW_CASE(localInvalidateTakesTheAccessAway, IBV_MW_TYPE_2, BINDABLE)
{
	uint32_t rkey = bind_anew(OFFSET, LENGTH, ALL_RIGHTS);

	expect_read(address_in(OFFSET), rkey, OFFSET);
	CHECK_EQUAL(invalidate(rkey, IBV_WC_SUCCESS).opcode, IBV_WC_LOCAL_INV);
	/* Free again, and so may be bound again. */
	rkey = ibv_inc_rkey(rkey);
	bind_as(rkey, OFFSET, LENGTH, ALL_RIGHTS);
	expect_read(address_in(OFFSET), rkey, OFFSET);
	invalidate(rkey, IBV_WC_SUCCESS);
	expect_refused(IBV_WR_RDMA_READ, address_in(OFFSET), rkey);
	/* There is nothing of that key. */
	renew_scene(IBV_MW_TYPE_2, BINDABLE);
	invalidate(pair.remote->mr->rkey, IBV_WC_MW_BIND_ERR);
	expect_state(pair.b.qp, IBV_QPS_ERR);
}

/* `a` sends to a receive of `b`. */
static void send_with_invalidate(uint32_t rkey)
{
	struct ibv_send_wr wr = {.wr_id = 8,
				 .opcode = IBV_WR_SEND_WITH_INV,
				 .send_flags = IBV_SEND_SIGNALED,
				 .invalidate_rkey = rkey};

	pair_receive(&pair, 9, 64);
	CHECK_EQUAL(post_wr(pair.a.qp, wr, sge_of(pair.local, 0, 5)), 0);
}

WINDOW_CASE(theOtherEndMayInvalidate, IBV_MW_TYPE_2, BINDABLE)
{
	uint32_t rkey = bind_anew(OFFSET, LENGTH, ALL_RIGHTS);
	struct ibv_wc wc;

	expect_read(address_in(OFFSET), rkey, OFFSET);
	send_with_invalidate(rkey);
	CHECK_EQUAL(expect_completion(pair.a.cq, 8, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	wc = expect_completion(pair.b.cq, 9, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.byte_len, 5);
	CHECK_EQUAL(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQUAL(wc.invalidated_rkey, rkey);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(pair.remote->mr), 0); /* no window is bound any more */
	pair.remote->mr = NULL;
	expect_refused(IBV_WR_RDMA_READ, address_in(OFFSET), rkey);
	/* But only what the queue pair has bound itself: no region, no window of type 1. */
	renew_scene(IBV_MW_TYPE_1, BINDABLE);
	send_with_invalidate(bind_anew(0, LENGTH, ALL_RIGHTS));
	expect_completion(pair.b.cq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_silence(pair.a.cq, 200); /* a peer that is gone is noticed earlier */
	expect_state(pair.b.qp, IBV_QPS_ERR);
}

CASE(wrongBindsFail)
{
	static const struct {
		enum ibv_mw_type type;
		int region_access;
		uint64_t offset, length;
		unsigned int access;
	} binds[] = {
		{IBV_MW_TYPE_1, ALL_REMOTE, 0, LENGTH, IBV_ACCESS_REMOTE_READ},
		{IBV_MW_TYPE_1, IBV_ACCESS_MW_BIND, 0, LENGTH, IBV_ACCESS_REMOTE_WRITE},
		{IBV_MW_TYPE_1, IBV_ACCESS_MW_BIND, 0, LENGTH, IBV_ACCESS_REMOTE_ATOMIC},
		{IBV_MW_TYPE_1, BINDABLE, BYTES - 8, 9, IBV_ACCESS_REMOTE_READ},
		{IBV_MW_TYPE_1, BINDABLE, 0, LENGTH, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED},
		{IBV_MW_TYPE_2, BINDABLE, 0, LENGTH, IBV_ACCESS_MW_BIND},
		{IBV_MW_TYPE_2, BINDABLE, 0, 0, IBV_ACCESS_REMOTE_READ},
	}, *bind;

	for (bind = binds; bind < binds + COUNT_OF(binds); bind++) {
		open_scene(bind->type, bind->region_access);
		CHECK_EQUAL(bind_window(ibv_inc_rkey(mw->rkey), bind->offset, bind->length, bind->access), 0);
		expect_completion(pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
		expect_state(pair.b.qp, IBV_QPS_ERR);
		close_scene();
	}
	/* A window of type 2 has to be invalidated first. */
	open_scene(IBV_MW_TYPE_2, BINDABLE);
	bind_as(mw->rkey, 0, LENGTH, ALL_RIGHTS);
	CHECK_EQUAL(bind_window(ibv_inc_rkey(mw->rkey), 0, LENGTH, ALL_RIGHTS), 0);
	expect_completion(pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
	/* What is no window is found when the bind is executed. */
	renew_scene(IBV_MW_TYPE_2, BINDABLE);
	mw->handle ^= 0x5000;
	CHECK_EQUAL(bind_window(mw->rkey, 0, LENGTH, ALL_RIGHTS), 0);
	expect_completion(pair.b.cq, 70, IBV_WC_MW_BIND_ERR);
	mw->handle ^= 0x5000;
	close_scene();
}

/* Its number may be another queue pair's soon. */
WINDOW_CASE(resetEndsTheWindowsOfAQueuePair, IBV_MW_TYPE_2, BINDABLE)
{
	bind_as(mw->rkey, 0, LENGTH, ALL_RIGHTS);
	expect_read(address_in(0), mw->rkey, 0);
	move_qp(pair.a.qp, IBV_QPS_RESET);
	move_qp(pair.b.qp, IBV_QPS_RESET);
	connect_sides(&pair.a, &pair.b, &with_atomics, &with_atomics);
	expect_refused(IBV_WR_RDMA_READ, address_in(0), mw->rkey);
}

MAIN(on_each_path, run_cases)

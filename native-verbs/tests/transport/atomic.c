/* SPDX-License-Identifier: Apache-2.0 */
/* Compare-and-swap and fetch-and-add: the value before comes back, each is executed once, and what is wrong is refused. */
#include "softdev_fixture.h"

#include <pthread.h>

enum { ADDS = 200, NO_EVENT = -1 };

#define ATOMIC_ALLOWED .b.access = WITH_ATOMIC, .remote_access = WITH_ATOMIC

static uint64_t *target_of(const struct pair *pair, size_t index)
{
	return (uint64_t *)(void *)pair->remote->bytes + index;
}

static uint64_t result_of(const struct pair *pair, size_t index)
{
	return ((uint64_t *)(void *)pair->local->bytes)[index];
}

/* To the target's word `index`. */
static struct ibv_send_wr request(const struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t index,
				  uint64_t compare_add, uint64_t swap)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = {(uintptr_t)target_of(pair, index), compare_add, swap, pair->remote->mr->rkey},
	};
}

/* The result comes to the same place of the other region. */
static void post_atomic(const struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t index,
			uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr wr = request(pair, opcode, wr_id, index, compare_add, swap);

	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, index * 8, 8)), 0);
}

PAIR_CASE(fetchAndAddBringsTheValueBefore, ATOMIC_ALLOWED)
{
	struct ibv_wc wc;

	*target_of(pair, 1) = 0xfffffffffffffff0;
	post_atomic(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 1, 0x21, 0);
	wc = expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_FETCH_ADD);
	CHECK_EQUAL(wc.byte_len, 8);
	CHECK_EQUAL(result_of(pair, 1), 0xfffffffffffffff0);
	CHECK_EQUAL(*target_of(pair, 1), 0x11);
	CHECK_EQUAL(*target_of(pair, 0), 0);
	CHECK_EQUAL(*target_of(pair, 2), 0);
}

PAIR_CASE(compareAndSwapChangesOnlyWhatIsEqual, ATOMIC_ALLOWED)
{
	*target_of(pair, 0) = 5;
	post_atomic(pair, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 6, 7);
	CHECK_EQUAL(expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS).opcode, IBV_WC_COMP_SWAP);
	CHECK_EQUAL(result_of(pair, 0), 5);
	CHECK_EQUAL(*target_of(pair, 0), 5);
	post_atomic(pair, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 0, 5, 7);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(result_of(pair, 0), 5);
	CHECK_EQUAL(*target_of(pair, 0), 7);
}

PAIR_CASE(writeIsAtomicToo)
{
	uint64_t value = 0x1122334455667788;
	struct ibv_send_wr wr = {.wr_id = 3,
				 .opcode = IBV_WR_ATOMIC_WRITE,
				 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				 .wr.rdma = {(uintptr_t)target_of(pair, 2), pair->remote->mr->rkey}};
	struct ibv_wc wc;

	CHECK_EQUAL(post_wr(pair->a.qp, wr, (struct ibv_sge){(uintptr_t)&value, sizeof(value), 0}), 0);
	wc = wait_completion(pair->a.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_ATOMIC_WRITE);
	CHECK_EQUAL(*target_of(pair, 2), value);
	wr.send_flags = IBV_SEND_SIGNALED;
	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, 0, 8)), 0);
	expect_completion(pair->a.cq, 3, IBV_WC_SUCCESS);
	CHECK_EQUAL(*target_of(pair, 2), result_of(pair, 0));
	wr.wr.rdma.remote_addr += 4;
	CHECK_EQUAL(post_wr(pair->a.qp, wr, sge_of(pair->local, 0, 8)), 0);
	expect_completion(pair->a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_async(&pair->b, IBV_EVENT_QP_REQ_ERR);
}

static void *add_locally(void *word)
{
	for (int i = 0; i < 100000; i++)
		__atomic_fetch_add((uint64_t *)word, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* More than max_rd_atomic are posted at once, among receives that make the peer say "not ready", against a local adder. */
PAIR_CASE(eachIsExecutedOnceWhateverComesBetween, ATOMIC_ALLOWED, .a.max_rd_atomic = 2)
{
	pthread_t adder;

	CHECK(!pthread_create(&adder, NULL, add_locally, target_of(pair, 0)));
	for (int i = 0; i < ADDS; i += 20) {
		for (int k = 0; k < 20; k++) {
			post_atomic(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, k, 0, 1000000, 0);
			if (k == 10)
				CHECK_EQUAL(post(pair->a.qp, IBV_WR_SEND, 99, sge_of(pair->local, 64, 8), 0, 0), 0);
		}
		test_sleep_ms(3);
		CHECK_EQUAL(post_receive(pair->b.qp, 5, sge_of(pair->remote, 64, 8)), 0);
		expect_completions(pair->a.cq, 0, 10, IBV_WC_SUCCESS);
		expect_completion(pair->a.cq, 99, IBV_WC_SUCCESS);
		expect_completions(pair->a.cq, 11, 19, IBV_WC_SUCCESS);
		expect_completion(pair->b.cq, 5, IBV_WC_SUCCESS);
	}
	CHECK(!pthread_join(adder, NULL));
	CHECK_EQUAL(*target_of(pair, 0), ADDS * 1000000ll + 100000);
}

/* What is wrong with the addition of 1 to a word that is 0, and what follows. */
struct mistake {
	struct pair_setup setup;
	int64_t remote_offset;
	bool wrong_rkey, wrong_lkey;
	uint32_t length; /* of the result, if not 8 */
	enum ibv_wc_status status;
	int event; /* at the responder, which fails then as well */
	bool executed;
};

static void expect_failures(const struct mistake *mistakes, unsigned int count)
{
	for (const struct mistake *mistake = mistakes; mistake < mistakes + count; mistake++) {
		struct pair opened, *pair = &opened;
		struct ibv_send_wr wr;
		struct ibv_sge sge;
		uint64_t before;

		open_pair_as(pair, &mistake->setup);
		before = result_of(pair, 0);
		wr = request(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0);
		wr.wr.atomic.remote_addr += mistake->remote_offset;
		wr.wr.atomic.rkey += mistake->wrong_rkey;
		sge = sge_of(pair->local, 0, mistake->length ? mistake->length : 8);
		sge.lkey += mistake->wrong_lkey;
		CHECK_EQUAL(post_wr(pair->a.qp, wr, sge), 0);
		expect_completion(pair->a.cq, 1, mistake->status);
		if (mistake->event != NO_EVENT) {
			expect_async(&pair->b, mistake->event);
			expect_state(pair->b.qp, IBV_QPS_ERR);
		}
		CHECK_EQUAL(state_of(pair->b.qp), mistake->event == NO_EVENT ? IBV_QPS_RTS : IBV_QPS_ERR);
		CHECK_EQUAL(*target_of(pair, 0), mistake->executed);
		CHECK_EQUAL(result_of(pair, 0), before);
		close_pair(pair);
	}
}

#define EXPECT_FAILURES(mistakes) expect_failures(mistakes, COUNT_OF(mistakes))

#define ALLOWED .setup = {ATOMIC_ALLOWED}
#define INVALID .status = IBV_WC_REM_INV_REQ_ERR, .event = IBV_EVENT_QP_REQ_ERR
#define DENIED .status = IBV_WC_REM_ACCESS_ERR, .event = IBV_EVENT_QP_ACCESS_ERR
#define FAILS_HERE(status_) .status = (status_), .event = NO_EVENT

CASE(whatIsNotAllowedIsRefused)
{
	static const struct mistake mistakes[] = {
		{ALLOWED, .remote_offset = 4, INVALID},
		{ALLOWED, .wrong_rkey = true, DENIED},
		{ALLOWED, .remote_offset = -8, DENIED},
		{.setup = {.b.access = WITH_ATOMIC}, DENIED},
		{.setup = {.remote_access = WITH_ATOMIC}, INVALID},
		{.setup = {.b = {.access = WITH_ATOMIC, .no_responder_resources = true}, .remote_access = WITH_ATOMIC},
		 INVALID},
	};

	EXPECT_FAILURES(mistakes);
}

CASE(whatTheResponderRefusesComesBeforeABadResultList)
{
	static const struct mistake mistakes[] = {
		{ALLOWED, .wrong_lkey = true, .wrong_rkey = true, .remote_offset = 1, INVALID},
		{ALLOWED, .wrong_lkey = true, .wrong_rkey = true, DENIED},
	};

	EXPECT_FAILURES(mistakes);
}

/* As adapters have it: what comes back is found to have no place when it comes. */
CASE(atomicIsExecutedThoughItsResultHasNoPlace)
{
	static const struct mistake mistakes[] = {
		{ALLOWED, .wrong_lkey = true, FAILS_HERE(IBV_WC_LOC_PROT_ERR), .executed = true},
		{.setup = {ATOMIC_ALLOWED, .local_access = IBV_ACCESS_REMOTE_READ},
		 FAILS_HERE(IBV_WC_LOC_PROT_ERR),
		 .executed = true},
	};

	EXPECT_FAILURES(mistakes);
}

CASE(resultOfAnotherLengthIsALengthError)
{
	static const struct mistake mistakes[] = {
		{ALLOWED, .length = 7, FAILS_HERE(IBV_WC_LOC_LEN_ERR)},
		{ALLOWED, .length = 9, FAILS_HERE(IBV_WC_LOC_LEN_ERR)},
	};
	struct pair pair;
	struct ibv_send_wr wr;

	EXPECT_FAILURES(mistakes);
	open_pair_as(&pair, &(struct pair_setup){ATOMIC_ALLOWED});
	wr = request(&pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0);
	wr.send_flags |= IBV_SEND_INLINE; /* there is no result without a place */
	CHECK_EQUAL(post_wr(pair.a.qp, wr, sge_of(pair.local, 0, 8)), EINVAL);
	close_pair(&pair);
}

PAIR_CASE(targetThatIsGoneIsAnErrorNotACrash, ATOMIC_ALLOWED)
{
	CHECK(!mprotect(pair->remote->bytes, pair->remote->length, PROT_READ));
	post_atomic(pair, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 0, 1);
	expect_completion(pair->a.cq, 1, IBV_WC_REM_OP_ERR);
}

PAIR_CASE(truncatedTargetIsAnErrorNotACrash, ATOMIC_ALLOWED)
{
	if (!test_path_is("file"))
		return;
	CHECK(!ftruncate(pair->remote->fd, 0));
	post_atomic(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0);
	expect_completion(pair->a.cq, 1, IBV_WC_REM_OP_ERR);
}

PAIR_CASE(resultThatIsGoneIsAnErrorNotACrash, ATOMIC_ALLOWED)
{
	if (test_device())
		return; /* the region keeps its pages there */
	CHECK(!mprotect(pair->local->bytes, pair->local->length, PROT_NONE));
	post_atomic(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0);
	expect_completion(pair->a.cq, 1, IBV_WC_LOC_PROT_ERR);
}

CASE(deviceSaysSo)
{
	struct ibv_context *context = open_device();
	struct ibv_device_attr attr;

	CHECK_EQUAL(softverbs_ibv_query_device(context, &attr), 0);
	CHECK_EQUAL(attr.atomic_cap, IBV_ATOMIC_HCA);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

MAIN(on_each_path, run_cases)

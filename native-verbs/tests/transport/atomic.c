/* SPDX-License-Identifier: Apache-2.0 */
/* Compare-and-swap and fetch-and-add: the value before comes back, each is executed once, and what is wrong is refused. */
#include "softdev_fixture.h"

#include <pthread.h>

enum { BYTES = 4096, ADDS = 200 };
enum { WITH_ATOMIC = ALL_REMOTE | IBV_ACCESS_REMOTE_ATOMIC };

static const struct connection atomic = {.access = WITH_ATOMIC};

struct scene {
	struct pair pair;
	struct region result, target;
};

static void open_scene(struct scene *scene, const struct connection *b, int target_access)
{
	open_pair(&scene->pair, NULL, b);
	scene->result = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->target = create_region(scene->pair.b.pd, BYTES, target_access);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->result);
	destroy_region(&scene->target);
	close_pair(&scene->pair);
}

static uint64_t *target_of(const struct scene *scene, size_t index)
{
	return (uint64_t *)(void *)scene->target.bytes + index;
}

static uint64_t result_of(const struct scene *scene, size_t index)
{
	return ((uint64_t *)(void *)scene->result.bytes)[index];
}

/* To the target's word `index`; the result to the same place of the other region. */
static struct ibv_send_wr request(const struct scene *scene, enum ibv_wr_opcode opcode, uint64_t wr_id,
				  size_t index, uint64_t compare_add, uint64_t swap, struct ibv_sge *sge)
{
	*sge = sge_of(&scene->result, index * 8, 8);
	return (struct ibv_send_wr){
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = {.remote_addr = (uintptr_t)target_of(scene, index),
			      .compare_add = compare_add,
			      .swap = swap,
			      .rkey = scene->target.mr->rkey},
	};
}

static int post_atomic(const struct scene *scene, enum ibv_wr_opcode opcode, uint64_t wr_id, size_t index,
		       uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr = request(scene, opcode, wr_id, index, compare_add, swap, &sge);

	return ibv_post_send(scene->pair.a.qp, &wr, &bad);
}

CASE(fetchAndAddBringsTheValueBefore)
{
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, &atomic, WITH_ATOMIC);
	*target_of(&scene, 1) = 0xfffffffffffffff0;
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 1, 0x21, 0), 0);
	wc = wait_completion(scene.pair.a.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_FETCH_ADD);
	CHECK_EQUAL(wc.byte_len, 8);
	CHECK_EQUAL(result_of(&scene, 1), 0xfffffffffffffff0);
	CHECK_EQUAL(*target_of(&scene, 1), 0x11);
	CHECK_EQUAL(*target_of(&scene, 0), 0);
	CHECK_EQUAL(*target_of(&scene, 2), 0);
	close_scene(&scene);
}

CASE(compareAndSwapChangesOnlyWhatIsEqual)
{
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, &atomic, WITH_ATOMIC);
	*target_of(&scene, 0) = 5;
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 6, 7), 0);
	wc = wait_completion(scene.pair.a.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_COMP_SWAP);
	CHECK_EQUAL(result_of(&scene, 0), 5);
	CHECK_EQUAL(*target_of(&scene, 0), 5);
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, 2, 0, 5, 7), 0);
	expect_completion(scene.pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(result_of(&scene, 0), 5);
	CHECK_EQUAL(*target_of(&scene, 0), 7);
	close_scene(&scene);
}

CASE(writeIsAtomicToo)
{
	uint64_t value = 0x1122334455667788;
	struct ibv_sge sge = {(uintptr_t)&value, sizeof(value), 0};
	struct ibv_send_wr *bad, wr = {
					 .wr_id = 3,
					 .sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_ATOMIC_WRITE,
					 .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
				 };
	struct scene scene;
	struct ibv_wc wc;

	open_scene(&scene, &atomic, ALL_REMOTE);
	wr.wr.rdma.remote_addr = (uintptr_t)target_of(&scene, 2);
	wr.wr.rdma.rkey = scene.target.mr->rkey;
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	wc = wait_completion(scene.pair.a.cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.opcode, IBV_WC_ATOMIC_WRITE);
	CHECK_EQUAL(*target_of(&scene, 2), value);
	wr.send_flags = IBV_SEND_SIGNALED;
	sge = sge_of(&scene.result, 0, 8);
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_SUCCESS);
	CHECK_EQUAL(*target_of(&scene, 2), 0);
	wr.wr.rdma.remote_addr += 4;
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	expect_completion(scene.pair.a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_async(&scene.pair.b, IBV_EVENT_QP_REQ_ERR);
	close_scene(&scene);
}

static void *add_locally(void *word)
{
	for (int i = 0; i < 100000; i++)
		__atomic_fetch_add((uint64_t *)word, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* More than max_rd_atomic are posted at once, among receives that make the peer say "not ready", against a local adder. */
CASE(eachIsExecutedOnceWhateverComesBetween)
{
	static const struct connection few = {.max_rd_atomic = 2};
	struct scene scene;
	pthread_t adder;

	open_pair(&scene.pair, &few, &atomic);
	scene.result = create_region(scene.pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene.target = create_region(scene.pair.b.pd, BYTES, WITH_ATOMIC);
	CHECK(!pthread_create(&adder, NULL, add_locally, target_of(&scene, 0)));
	for (int i = 0; i < ADDS; i += 20) {
		for (int k = 0; k < 20; k++) {
			CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, k, 0, 1000000, 0), 0);
			if (k == 10)
				CHECK_EQUAL(post(scene.pair.a.qp, IBV_WR_SEND, 99, sge_of(&scene.result, 64, 8), 0, 0), 0);
		}
		test_sleep_ms(3);
		CHECK_EQUAL(post_receive(scene.pair.b.qp, 5, sge_of(&scene.target, 64, 8)), 0);
		for (int k = 0; k < 20; k++) {
			expect_completion(scene.pair.a.cq, k, IBV_WC_SUCCESS);
			if (k == 10)
				expect_completion(scene.pair.a.cq, 99, IBV_WC_SUCCESS);
		}
		expect_completion(scene.pair.b.cq, 5, IBV_WC_SUCCESS);
	}
	CHECK(!pthread_join(adder, NULL));
	CHECK_EQUAL(*target_of(&scene, 0), ADDS * 1000000ll + 100000);
	close_scene(&scene);
}

static void expect_refusal(const struct connection *b, int target_access, int misalign, bool wrong_key,
			   enum ibv_wc_status status, enum ibv_event_type event)
{
	struct scene scene;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr;

	open_scene(&scene, b, target_access);
	wr = request(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0, &sge);
	wr.wr.atomic.remote_addr += misalign;
	wr.wr.atomic.rkey += wrong_key;
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	expect_completion(scene.pair.a.cq, 1, status);
	expect_async(&scene.pair.b, event);
	expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	CHECK_EQUAL(*target_of(&scene, 0), 0);
	close_scene(&scene);
}

CASE(whatIsNotAllowedIsRefused)
{
	static const struct connection no_access = {.access = ALL_REMOTE},
				       no_resources = {.access = WITH_ATOMIC, .no_responder_resources = true};

	expect_refusal(&atomic, WITH_ATOMIC, 4, false, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	expect_refusal(&atomic, WITH_ATOMIC, 0, true, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	expect_refusal(&atomic, WITH_ATOMIC, -8, false, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	expect_refusal(&atomic, ALL_REMOTE, 0, false, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
	expect_refusal(&no_access, WITH_ATOMIC, 0, false, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	expect_refusal(&no_resources, WITH_ATOMIC, 0, false, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
}

/* As adapters have it: what comes back is found to have no place when it comes. */
CASE(atomicIsExecutedThoughItsResultHasNoPlace)
{
	struct scene scene;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr;

	open_scene(&scene, &atomic, WITH_ATOMIC);
	wr = request(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0, &sge);
	sge.lkey++;
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQUAL(*target_of(&scene, 0), 1);
	CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
	/* A region that may not be written. */
	open_scene(&scene, &atomic, WITH_ATOMIC);
	destroy_region(&scene.result);
	scene.result = create_region(scene.pair.a.pd, BYTES, 0);
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 0, 2), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK_EQUAL(*target_of(&scene, 0), 2);
	CHECK_EQUAL(result_of(&scene, 0), 0);
	close_scene(&scene);
}

CASE(whatTheResponderRefusesComesBeforeABadResultList)
{
	struct scene scene;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr;

	for (int misaligned = 0; misaligned < 2; misaligned++) {
		open_scene(&scene, &atomic, WITH_ATOMIC);
		wr = request(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0, &sge);
		sge.lkey++;
		wr.wr.atomic.rkey++;
		wr.wr.atomic.remote_addr += misaligned;
		CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
		expect_completion(scene.pair.a.cq, 1, misaligned ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_ACCESS_ERR);
		CHECK_EQUAL(*target_of(&scene, 0), 0);
		close_scene(&scene);
	}
}

CASE(resultOfAnotherLengthIsALengthError)
{
	struct scene scene;
	struct ibv_sge sge;
	struct ibv_send_wr *bad, wr;

	for (int length = 7; length <= 9; length += 2) {
		open_scene(&scene, &atomic, WITH_ATOMIC);
		wr = request(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 0, 1, &sge);
		sge.length = length;
		CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), 0);
		expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_LEN_ERR);
		CHECK_EQUAL(*target_of(&scene, 0), 0);
		CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
		close_scene(&scene);
	}
	open_scene(&scene, &atomic, WITH_ATOMIC);
	wr = request(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0, &sge);
	wr.send_flags |= IBV_SEND_INLINE;
	CHECK_EQUAL(ibv_post_send(scene.pair.a.qp, &wr, &bad), EINVAL);
	close_scene(&scene);
}

CASE(targetThatIsGoneIsAnErrorNotACrash)
{
	struct scene scene;

	open_scene(&scene, &atomic, WITH_ATOMIC);
	CHECK(!mprotect(scene.target.bytes, BYTES, PROT_READ));
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_CMP_AND_SWP, 1, 0, 0, 1), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_REM_OP_ERR);
	close_scene(&scene);
	if (test_path_is("file")) {
		open_scene(&scene, &atomic, WITH_ATOMIC);
		CHECK(!ftruncate(scene.target.fd, 0));
		CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0), 0);
		expect_completion(scene.pair.a.cq, 1, IBV_WC_REM_OP_ERR);
		close_scene(&scene);
	}
	open_scene(&scene, &atomic, WITH_ATOMIC);
	CHECK(!mprotect(scene.result.bytes, BYTES, PROT_NONE));
	CHECK_EQUAL(post_atomic(&scene, IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0, 1, 0), 0);
	expect_completion(scene.pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	close_scene(&scene);
}

CASE(deviceSaysSo)
{
	struct ibv_context *context = open_device();
	struct ibv_device_attr attr;

	CHECK_EQUAL(softverbs_ibv_query_device(context, &attr), 0);
	CHECK_EQUAL(attr.atomic_cap, IBV_ATOMIC_HCA);
	CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

int main(void)
{
	on_each_path(run_cases);
}

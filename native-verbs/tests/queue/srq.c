/* SPDX-License-Identifier: Apache-2.0 */
/* A shared receive queue: many QPs take from it, it tells when it runs low, and errors of one QP leave it to the others. */
#include "softdev_fixture.h"

enum { BYTES = 4096, QPS = 3, SHARED = 16 };

/* One sender for each of the QPs that share a queue. */
static struct scene {
	struct side from[QPS], to;
	struct ibv_srq *srq;
	struct ibv_qp *qps[QPS];
	struct region *source[QPS], *sink;
} scene;

/* A new QP that shares the queue and completes to `cq`, for the sender of that index. */
static void create_shared_qp(int index, struct ibv_cq *cq, const struct connection *how)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = scene.srq,
		.cap = {16, 0, 4, 0, 64},
		.qp_type = IBV_QPT_RC,
	};
	struct side far = scene.to;

	far.qp = scene.qps[index] = softverbs_ibv_create_qp(scene.to.pd, &init);
	CHECK(far.qp && far.qp->srq == scene.srq);
	move_qp(scene.from[index].qp, IBV_QPS_RESET);
	connect_sides(&scene.from[index], &far, how, NULL);
}

static void open_scene(uint32_t max_wr, const struct connection *how)
{
	struct ibv_srq_init_attr init = {.srq_context = &scene, .attr = {.max_wr = max_wr, .max_sge = 2}};

	open_side(&scene.to, 256, 4);
	scene.srq = softverbs_ibv_create_srq(scene.to.pd, &init);
	CHECK(scene.srq);
	CHECK(init.attr.max_wr >= max_wr && init.attr.max_sge >= 2);
	scene.sink = add_region(&scene.to, BYTES, ALL_REMOTE);
	for (int i = 0; i < QPS; i++) {
		open_side(&scene.from[i], 256, 16);
		scene.source[i] = add_region(&scene.from[i], BYTES, ALL_REMOTE);
		create_shared_qp(i, scene.to.cq, how);
	}
}

/* `other`: a completion queue that only the shared QPs have used, or NULL. */
static void close_scene_of(struct ibv_cq *other)
{
	for (int i = 0; i < QPS; i++) {
		close_side(&scene.from[i]);
		CHECK_EQUAL(softverbs_ibv_destroy_srq(scene.srq), EBUSY);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(scene.qps[i]), 0);
	}
	CHECK_EQUAL(softverbs_ibv_destroy_srq(scene.srq), 0);
	if (other)
		CHECK_EQUAL(softverbs_ibv_destroy_cq(other), 0);
	close_side(&scene.to);
	check_no_leaks();
}

static void close_scene(void)
{
	close_scene_of(NULL);
}

/* A case with an open scene, whose queue has that many slots. */
#define SHARED_CASE(name, max_wr)         \
	static void name##_sharing(void); \
	CASE(name)                        \
	{                                 \
		open_scene(max_wr, NULL); \
		name##_sharing();         \
		close_scene();            \
	}                                 \
	static void name##_sharing(void)

static int post_at(uint64_t wr_id, uint64_t offset, uint32_t length)
{
	return post_shared(scene.srq, wr_id, sge_of(scene.sink, offset, length));
}

static void send_from(int sender, uint64_t wr_id, uint32_t length)
{
	CHECK_EQUAL(post(scene.from[sender].qp, IBV_WR_SEND, wr_id, sge_of(scene.source[sender], 0, length), 0, 0), 0);
}

static struct ibv_async_event next_event(void)
{
	struct ibv_async_event event;

	if (!test_readable(scene.to.context->async_fd, WAIT_MS))
		test_end_differing("event", "none", "one");
	CHECK_EQUAL(softverbs_ibv_get_async_event(scene.to.context, &event), 0);
	softverbs_ibv_ack_async_event(&event);
	return event;
}

static void expect_limit_event(void)
{
	struct ibv_async_event event = next_event();

	CHECK_EQUAL(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == scene.srq && scene.srq->srq_context == &scene);
}

static void expect_last_receive_event(const struct ibv_qp *qp)
{
	struct ibv_async_event event = next_event();

	CHECK_EQUAL(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(event.element.qp == qp);
}

SHARED_CASE(everyQpTakesTheOldestReceive, SHARED)
{
	for (int i = 0; i < SHARED; i++)
		CHECK_EQUAL(post_at(100 + i, i * 16, 16), 0);
	for (int i = 0; i < SHARED; i++) {
		int sender = i % QPS;
		struct ibv_wc wc;

		memset(scene.source[sender]->bytes, 'a' + i, 16);
		send_from(sender, i, 10);
		expect_completion(scene.from[sender].cq, i, IBV_WC_SUCCESS);
		wc = expect_completion(scene.to.cq, 100 + i, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
		CHECK_EQUAL(wc.byte_len, 10);
		CHECK_EQUAL(wc.qp_num, scene.qps[sender]->qp_num);
		CHECK_EQUAL(wc.src_qp, scene.from[sender].qp->qp_num);
		CHECK_EQUAL(scene.sink->bytes[i * 16 + 9], 'a' + i);
		CHECK_EQUAL(scene.sink->bytes[i * 16 + 10], 0);
	}
}

SHARED_CASE(slotsComeBackWhenTheirCompletionIsPolled, 2)
{
	CHECK_EQUAL(post_at(1, 0, 16), 0);
	CHECK_EQUAL(post_at(2, 16, 16), 0);
	CHECK_EQUAL(post_at(3, 32, 16), ENOMEM);
	send_from(0, 1, 1);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_at(3, 32, 16), ENOMEM);
	expect_completion(scene.to.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_at(3, 32, 16), 0);
	/* Completions that nobody polled free their slots with the QP. */
	send_from(0, 1, 1);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(scene.qps[0]), 0);
	AWAIT(!post_at(4, 0, 16));
	create_shared_qp(0, scene.to.cq, NULL);
}

CASE(emptyQueueIsNotReady)
{
	static const struct connection few = {.rnr_retry = 2};

	open_scene(SHARED, &few);
	send_from(1, 7, 1);
	expect_completion(scene.from[1].cq, 7, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_EQUAL(state_of(scene.qps[1]), IBV_QPS_RTS);
	close_scene();
	open_scene(SHARED, NULL);
	send_from(1, 7, 1);
	expect_silence(scene.from[1].cq, 20);
	CHECK_EQUAL(post_at(8, 0, 16), 0);
	expect_completion(scene.from[1].cq, 7, IBV_WC_SUCCESS);
	expect_completion(scene.to.cq, 8, IBV_WC_SUCCESS);
	close_scene();
}

/* A WRITE takes none: the only receive is left for another queue pair. */
SHARED_CASE(writesTakeNoReceive, SHARED)
{
	CHECK_EQUAL(post_at(8, 0, 16), 0);
	CHECK_EQUAL(post(scene.from[0].qp, IBV_WR_RDMA_WRITE, 1, sge_of(scene.source[0], 0, 16),
			 (uintptr_t)scene.sink->bytes + 64, scene.sink->mr->rkey),
		    0);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	send_from(1, 2, 1);
	expect_completion(scene.from[1].cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.to.cq, 8, IBV_WC_SUCCESS);
}

SHARED_CASE(limitIsToldOnce, SHARED)
{
	struct ibv_srq_attr attr = {.srq_limit = 3}, query;

	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_at(i, 0, 16), 0);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.srq_limit, 3);
	send_from(0, 1, 1);
	expect_completion(scene.to.cq, 0, IBV_WC_SUCCESS);
	CHECK(!test_readable(scene.to.context->async_fd, 20));
	send_from(1, 1, 1);
	expect_limit_event();
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.srq_limit, 0);
	send_from(2, 1, 1);
	expect_completions(scene.to.cq, 1, 2, IBV_WC_SUCCESS);
	CHECK(!test_readable(scene.to.context->async_fd, 20));
	/* One receive is left: a limit above that has been reached already. */
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), 0);
	expect_limit_event();
}

SHARED_CASE(failedQpLeavesTheReceivesToTheOthers, SHARED)
{
	CHECK_EQUAL(post_at(1, 0, 4), 0);
	CHECK_EQUAL(post_at(2, 0, 16), 0);
	send_from(0, 9, 5);
	expect_completion(scene.from[0].cq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_completion(scene.to.cq, 1, IBV_WC_LOC_LEN_ERR);
	expect_last_receive_event(scene.qps[0]);
	CHECK_EQUAL(state_of(scene.qps[0]), IBV_QPS_ERR);
	expect_no_completion(scene.to.cq);
	send_from(1, 9, 5);
	expect_completion(scene.to.cq, 2, IBV_WC_SUCCESS);
}

SHARED_CASE(errorStateAloneTellsTheLastReceive, SHARED)
{
	CHECK_EQUAL(post_at(1, 0, 4), 0);
	move_qp(scene.qps[2], IBV_QPS_ERR);
	expect_last_receive_event(scene.qps[2]);
	expect_no_completion(scene.to.cq);
}

SHARED_CASE(sizeCanBeChanged, 2)
{
	struct ibv_srq_attr attr = {.max_wr = 4}, query;
	struct ibv_device_attr device;

	CHECK_EQUAL(softverbs_ibv_query_device(scene.to.context, &device), 0);
	CHECK(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_at(i, 0, 16), 0);
	CHECK_EQUAL(post_at(4, 0, 16), ENOMEM);
	attr.max_wr = 3;
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = device.max_srq_wr + 1;
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.max_wr, 4);
	CHECK(query.max_sge >= 2);
}

/* The shared QPs anew, with another completion queue and a receive for each. */
static void use_queue(struct ibv_cq *cq)
{
	for (int i = 0; i < QPS; i++) {
		CHECK_EQUAL(softverbs_ibv_destroy_qp(scene.qps[i]), 0);
		create_shared_qp(i, cq, NULL);
		CHECK_EQUAL(post_at(i, 0, 16), 0);
	}
}

/* What does not fit into the completion queue is lost with it. */
CASE(overrunFailsTheQps)
{
	struct ibv_cq *narrow;

	open_scene(SHARED, NULL);
	narrow = softverbs_ibv_create_cq(scene.to.context, 1, NULL, NULL, 0);
	CHECK(narrow);
	use_queue(narrow);
	for (int i = 0; i < QPS; i++)
		send_from(i, i, 1);
	while (next_event().event_type != IBV_EVENT_CQ_ERR)
		;
	for (int i = 0; i < QPS; i++)
		expect_state(scene.qps[i], IBV_QPS_ERR);
	close_scene_of(narrow);
}

/* The slot of a receive whose completion is lost comes back at once, for nobody will poll it. */
CASE(ignoredOverrunLosesNoSlot)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 1,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN};
	struct ibv_cq *narrow;
	int posted = 0;

	open_scene(SHARED, NULL);
	narrow = ibv_cq_ex_to_cq(ibv_create_cq_ex(scene.to.context, &attr));
	CHECK(narrow);
	use_queue(narrow);
	for (int i = 0; i < QPS; i++) {
		send_from(i, i, 1);
		expect_completion(scene.from[i].cq, i, IBV_WC_SUCCESS);
	}
	for (; posted < SHARED - 1; posted++)
		AWAIT(!post_at(posted, 0, 16)); /* the answer goes before the completion */
	CHECK_EQUAL(post_at(posted, 0, 16), ENOMEM);
	expect_completion(narrow, 0, IBV_WC_SUCCESS);
	expect_no_completion(narrow);
	CHECK_EQUAL(post_at(posted, 0, 16), 0);
	close_scene_of(narrow);
}

SHARED_CASE(wrongArgumentsAreRefused, SHARED)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1 << 30, .max_sge = 1}};
	struct ibv_sge sges[3] = {{0}};
	struct ibv_recv_wr *bad, wr = {.sg_list = sges, .num_sge = 3};
	struct ibv_srq_attr attr = {.srq_limit = 17};
	struct ibv_qp_init_attr queried;
	struct ibv_qp_attr state;

	CHECK_REFUSED(softverbs_ibv_create_srq(scene.to.pd, &init), EINVAL);
	init.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = 1 << 20};
	CHECK_REFUSED(softverbs_ibv_create_srq(scene.to.pd, &init), EINVAL);
	CHECK_EQUAL(ibv_post_srq_recv(scene.srq, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	CHECK_EQUAL(post_receive(scene.qps[0], 1, sge_of(scene.sink, 0, 1)), EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, 1 << 7), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_qp(scene.qps[0], &state, IBV_QP_STATE, &queried), 0);
	CHECK(queried.srq == scene.srq && !queried.cap.max_recv_wr);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(scene.to.pd), EBUSY);
}

MAIN(on_each_link, run_cases)

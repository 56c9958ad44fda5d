/* SPDX-License-Identifier: Apache-2.0 */
/* A shared receive queue: many QPs take from it, it tells when it runs low, and errors of one QP leave it to the others. */
#include "softdev_fixture.h"

enum { BYTES = 4096, QPS = 3, SHARED = 16 };

/* One sender for each of the QPs that share a queue. */
struct scene {
	struct side from[QPS], to;
	struct ibv_srq *srq;
	struct ibv_qp *qps[QPS];
	struct region source[QPS], sink;
};

static struct ibv_qp *create_shared_qp(struct side *side, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.srq = srq,
		.cap = {16, 0, 4, 0, 64},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp = softverbs_ibv_create_qp(side->pd, &init);

	CHECK(qp && qp->srq == srq);
	return qp;
}

static void open_scene(struct scene *scene, uint32_t max_wr, const struct connection *how)
{
	struct ibv_srq_init_attr init = {.srq_context = scene, .attr = {.max_wr = max_wr, .max_sge = 2}};

	open_side(&scene->to, 256, 4);
	scene->srq = softverbs_ibv_create_srq(scene->to.pd, &init);
	CHECK(scene->srq);
	CHECK(init.attr.max_wr >= max_wr && init.attr.max_sge >= 2);
	scene->sink = create_region(scene->to.pd, BYTES, ALL_REMOTE);
	for (int i = 0; i < QPS; i++) {
		struct address from, to;
		struct side far = scene->to;

		open_side(&scene->from[i], 256, 16);
		scene->source[i] = create_region(scene->from[i].pd, BYTES, ALL_REMOTE);
		far.qp = scene->qps[i] = create_shared_qp(&scene->to, scene->srq);
		from = address_of(&scene->from[i]);
		to = address_of(&far);
		connect_side(&far, &from, NULL);
		connect_side(&scene->from[i], &to, how);
	}
}

/* `other`: a completion queue that only the shared QPs have used, or NULL. */
static void close_scene_of(struct scene *scene, struct ibv_cq *other)
{
	for (int i = 0; i < QPS; i++) {
		destroy_region(&scene->source[i]);
		close_side(&scene->from[i]);
		CHECK_EQUAL(softverbs_ibv_destroy_srq(scene->srq), EBUSY);
		CHECK_EQUAL(softverbs_ibv_destroy_qp(scene->qps[i]), 0);
	}
	CHECK_EQUAL(softverbs_ibv_destroy_srq(scene->srq), 0);
	if (other)
		CHECK_EQUAL(softverbs_ibv_destroy_cq(other), 0);
	destroy_region(&scene->sink);
	close_side(&scene->to);
	check_no_leaks();
}

static void close_scene(struct scene *scene)
{
	close_scene_of(scene, NULL);
}

static int post_shared(struct scene *scene, uint64_t wr_id, uint64_t offset, uint32_t length)
{
	struct ibv_sge sge = sge_of(&scene->sink, offset, length);
	struct ibv_recv_wr *bad, wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ibv_post_srq_recv(scene->srq, &wr, &bad);
}

static int send_from(struct scene *scene, int sender, uint64_t wr_id, uint32_t length)
{
	return post(scene->from[sender].qp, IBV_WR_SEND, wr_id, sge_of(&scene->source[sender], 0, length), 0, 0);
}

static struct ibv_async_event next_event(struct side *side)
{
	struct ibv_async_event event;

	if (!test_readable(side->context->async_fd, WAIT_MS))
		test_end_differing("event", "none", "one");
	CHECK_EQUAL(softverbs_ibv_get_async_event(side->context, &event), 0);
	return event;
}

CASE(everyQpTakesTheOldestReceive)
{
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	for (int i = 0; i < SHARED; i++)
		CHECK_EQUAL(post_shared(&scene, 100 + i, i * 16, 16), 0);
	for (int i = 0; i < SHARED; i++) {
		int sender = i % QPS;
		struct ibv_wc wc;

		memset(scene.source[sender].bytes, 'a' + i, 16);
		CHECK_EQUAL(send_from(&scene, sender, i, 10), 0);
		expect_completion(scene.from[sender].cq, i, IBV_WC_SUCCESS);
		wc = wait_completion(scene.to.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.opcode, IBV_WC_RECV);
		CHECK_EQUAL(wc.wr_id, 100 + i);
		CHECK_EQUAL(wc.byte_len, 10);
		CHECK_EQUAL(wc.qp_num, scene.qps[sender]->qp_num);
		CHECK_EQUAL(wc.src_qp, scene.from[sender].qp->qp_num);
		CHECK_EQUAL(scene.sink.bytes[i * 16 + 9], 'a' + i);
		CHECK_EQUAL(scene.sink.bytes[i * 16 + 10], 0);
	}
	close_scene(&scene);
}

CASE(slotsComeBackWhenTheirCompletionIsPolled)
{
	struct scene scene;
	uint64_t deadline = test_now_ms() + WAIT_MS;

	open_scene(&scene, 2, NULL);
	CHECK_EQUAL(post_shared(&scene, 1, 0, 16), 0);
	CHECK_EQUAL(post_shared(&scene, 2, 16, 16), 0);
	CHECK_EQUAL(post_shared(&scene, 3, 32, 16), ENOMEM);
	CHECK_EQUAL(send_from(&scene, 0, 1, 1), 0);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_shared(&scene, 3, 32, 16), ENOMEM);
	expect_completion(scene.to.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(post_shared(&scene, 3, 32, 16), 0);
	/* Completions that nobody polled free their slots with the QP. */
	CHECK_EQUAL(send_from(&scene, 0, 1, 1), 0);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(scene.qps[0]), 0);
	while (post_shared(&scene, 4, 0, 16))
		CHECK(test_now_ms() < deadline);
	scene.qps[0] = create_shared_qp(&scene.to, scene.srq);
	close_scene(&scene);
}

CASE(emptyQueueIsNotReady)
{
	static const struct connection few = {.rnr_retry = 2};
	struct scene scene;

	open_scene(&scene, SHARED, &few);
	CHECK_EQUAL(send_from(&scene, 1, 7, 1), 0);
	expect_completion(scene.from[1].cq, 7, IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK_EQUAL(state_of(scene.qps[1]), IBV_QPS_RTS);
	close_scene(&scene);
	open_scene(&scene, SHARED, NULL);
	CHECK_EQUAL(send_from(&scene, 1, 7, 1), 0);
	test_sleep_ms(20);
	CHECK_EQUAL(post_shared(&scene, 8, 0, 16), 0);
	expect_completion(scene.from[1].cq, 7, IBV_WC_SUCCESS);
	expect_completion(scene.to.cq, 8, IBV_WC_SUCCESS);
	close_scene(&scene);
}

/* A WRITE takes none: the only receive is left for another queue pair. */
CASE(writesTakeNoReceive)
{
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	CHECK_EQUAL(post_shared(&scene, 8, 0, 16), 0);
	CHECK_EQUAL(post(scene.from[0].qp, IBV_WR_RDMA_WRITE, 1, sge_of(&scene.source[0], 0, 16),
			 (uintptr_t)scene.sink.bytes + 64, scene.sink.mr->rkey),
		    0);
	expect_completion(scene.from[0].cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(send_from(&scene, 1, 2, 1), 0);
	expect_completion(scene.from[1].cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.to.cq, 8, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(limitIsToldOnce)
{
	struct ibv_srq_attr attr = {.srq_limit = 3}, query;
	struct ibv_async_event event;
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_shared(&scene, i, 0, 16), 0);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.srq_limit, 3);
	CHECK_EQUAL(send_from(&scene, 0, 1, 1), 0);
	expect_completion(scene.to.cq, 0, IBV_WC_SUCCESS);
	CHECK(!test_readable(scene.to.context->async_fd, 20));
	CHECK_EQUAL(send_from(&scene, 1, 1, 1), 0);
	event = next_event(&scene.to);
	CHECK_EQUAL(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	CHECK(event.element.srq == scene.srq && scene.srq->srq_context == &scene);
	softverbs_ibv_ack_async_event(&event);
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.srq_limit, 0);
	CHECK_EQUAL(send_from(&scene, 2, 1, 1), 0);
	expect_completion(scene.to.cq, 1, IBV_WC_SUCCESS);
	expect_completion(scene.to.cq, 2, IBV_WC_SUCCESS);
	CHECK(!test_readable(scene.to.context->async_fd, 20));
	/* One receive is left: a limit above that has been reached already. */
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), 0);
	event = next_event(&scene.to);
	CHECK_EQUAL(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	softverbs_ibv_ack_async_event(&event);
	close_scene(&scene);
}

CASE(failedQpLeavesTheReceivesToTheOthers)
{
	struct ibv_async_event event;
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	CHECK_EQUAL(post_shared(&scene, 1, 0, 4), 0);
	CHECK_EQUAL(post_shared(&scene, 2, 0, 16), 0);
	CHECK_EQUAL(send_from(&scene, 0, 9, 5), 0);
	expect_completion(scene.from[0].cq, 9, IBV_WC_REM_INV_REQ_ERR);
	expect_completion(scene.to.cq, 1, IBV_WC_LOC_LEN_ERR);
	event = next_event(&scene.to);
	CHECK_EQUAL(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(event.element.qp == scene.qps[0]);
	softverbs_ibv_ack_async_event(&event);
	CHECK_EQUAL(state_of(scene.qps[0]), IBV_QPS_ERR);
	expect_no_completion(scene.to.cq);
	CHECK_EQUAL(send_from(&scene, 1, 9, 5), 0);
	expect_completion(scene.to.cq, 2, IBV_WC_SUCCESS);
	close_scene(&scene);
}

CASE(errorStateAloneTellsTheLastReceive)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
	struct ibv_async_event event;
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	CHECK_EQUAL(post_shared(&scene, 1, 0, 4), 0);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.qps[2], &attr, IBV_QP_STATE), 0);
	event = next_event(&scene.to);
	CHECK_EQUAL(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	CHECK(event.element.qp == scene.qps[2]);
	softverbs_ibv_ack_async_event(&event);
	expect_no_completion(scene.to.cq);
	close_scene(&scene);
}

CASE(sizeCanBeChanged)
{
	struct ibv_srq_attr attr = {.max_wr = 4}, query;
	struct ibv_device_attr device;
	struct scene scene;

	open_scene(&scene, 2, NULL);
	CHECK_EQUAL(softverbs_ibv_query_device(scene.to.context, &device), 0);
	CHECK(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQUAL(post_shared(&scene, i, 0, 16), 0);
	CHECK_EQUAL(post_shared(&scene, 4, 0, 16), ENOMEM);
	attr.max_wr = 3;
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	attr.max_wr = device.max_srq_wr + 1;
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_srq(scene.srq, &query), 0);
	CHECK_EQUAL(query.max_wr, 4);
	CHECK(query.max_sge >= 2);
	close_scene(&scene);
}

/* The shared QPs anew, with another completion queue and a receive for each. */
static void use_queue(struct scene *scene, struct ibv_cq *cq)
{
	scene->to.cq = cq;
	for (int i = 0; i < QPS; i++) {
		struct address from, to;
		struct side far = scene->to;
		struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};

		CHECK_EQUAL(softverbs_ibv_destroy_qp(scene->qps[i]), 0);
		CHECK_EQUAL(softverbs_ibv_modify_qp(scene->from[i].qp, &reset, IBV_QP_STATE), 0);
		far.qp = scene->qps[i] = create_shared_qp(&scene->to, scene->srq);
		from = address_of(&scene->from[i]);
		to = address_of(&far);
		connect_side(&far, &from, NULL);
		connect_side(&scene->from[i], &to, NULL);
		CHECK_EQUAL(post_shared(scene, i, 0, 16), 0);
	}
}

/* What does not fit into the completion queue is lost with it. */
CASE(overrunFailsTheQps)
{
	struct ibv_async_event event;
	struct ibv_cq *wide, *narrow;
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	narrow = softverbs_ibv_create_cq(scene.to.context, 1, NULL, NULL, 0);
	CHECK(narrow);
	wide = scene.to.cq;
	use_queue(&scene, narrow);
	for (int i = 0; i < QPS; i++)
		CHECK_EQUAL(send_from(&scene, i, i, 1), 0);
	do {
		event = next_event(&scene.to);
		softverbs_ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_CQ_ERR);
	for (int i = 0; i < QPS; i++)
		expect_state(scene.qps[i], IBV_QPS_ERR);
	scene.to.cq = wide;
	close_scene_of(&scene, narrow);
}

/* The slot of a receive whose completion is lost comes back at once, for nobody will poll it. */
CASE(ignoredOverrunLosesNoSlot)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 1,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN};
	struct ibv_cq *wide, *narrow;
	struct scene scene;
	uint64_t deadline;
	int posted = 0;

	open_scene(&scene, SHARED, NULL);
	narrow = ibv_cq_ex_to_cq(ibv_create_cq_ex(scene.to.context, &attr));
	CHECK(narrow);
	wide = scene.to.cq;
	use_queue(&scene, narrow);
	deadline = test_now_ms() + WAIT_MS;
	for (int i = 0; i < QPS; i++) {
		CHECK_EQUAL(send_from(&scene, i, i, 1), 0);
		expect_completion(scene.from[i].cq, i, IBV_WC_SUCCESS);
	}
	while (posted < SHARED - 1) { /* the answer goes before the completion */
		CHECK(test_now_ms() < deadline);
		posted += !post_shared(&scene, posted, 0, 16);
	}
	CHECK_EQUAL(post_shared(&scene, posted, 0, 16), ENOMEM);
	expect_completion(narrow, 0, IBV_WC_SUCCESS);
	expect_no_completion(narrow);
	CHECK_EQUAL(post_shared(&scene, posted, 0, 16), 0);
	scene.to.cq = wide;
	close_scene_of(&scene, narrow);
}

CASE(wrongArgumentsAreRefused)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1 << 30, .max_sge = 1}};
	struct ibv_sge sges[3] = {{0}};
	struct ibv_recv_wr *bad, wr = {.sg_list = sges, .num_sge = 3};
	struct ibv_srq_attr attr = {.srq_limit = 17};
	struct ibv_qp_init_attr queried;
	struct ibv_qp_attr state;
	struct scene scene;

	open_scene(&scene, SHARED, NULL);
	CHECK(!softverbs_ibv_create_srq(scene.to.pd, &init) && errno == EINVAL);
	init.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = 1 << 20};
	CHECK(!softverbs_ibv_create_srq(scene.to.pd, &init) && errno == EINVAL);
	CHECK_EQUAL(ibv_post_srq_recv(scene.srq, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	CHECK_EQUAL(post_receive(scene.qps[0], 1, sge_of(&scene.sink, 0, 1)), EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_srq(scene.srq, &attr, 1 << 7), EINVAL);
	CHECK_EQUAL(softverbs_ibv_query_qp(scene.qps[0], &state, IBV_QP_STATE, &queried), 0);
	CHECK(queried.srq == scene.srq && !queried.cap.max_recv_wr);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(scene.to.pd), EBUSY);
	close_scene(&scene);
}

int main(void)
{
	on_each_link(run_cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many small READs posted one by one before the application looks for a completion: they come in order with their bytes
 * when it polls, by an event when it asked or asks for one, and without any further call too.
 */
#include "softdev_fixture.h"

enum { BURST = 60, BLOCK = 700, BYTES = BURST * BLOCK };

struct scene {
	struct pair pair;
	struct region sink, source;
};

static void open_scene(struct scene *scene)
{
	open_pair(&scene->pair, NULL, NULL);
	scene->sink = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
	fill_pattern(scene->source.bytes, BYTES, 5);
	/* Connected before the burst. */
	CHECK_EQUAL(post_read(scene->pair.a.qp, 99, &scene->sink, 1, (uintptr_t)scene->source.bytes,
			      scene->source.mr->rkey),
		    0);
	expect_completion(scene->pair.a.cq, 99, IBV_WC_SUCCESS);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	close_pair(&scene->pair);
}

/* READ i brings block i; `wrong` is one with a wrong rkey, -1 = none. */
static void post_burst(struct scene *scene, bool signalled, int wrong)
{
	for (int i = 0; i < BURST; i++) {
		struct ibv_sge sge = sge_of(&scene->sink, i * BLOCK, BLOCK);
		struct ibv_send_wr *bad, wr = {
						 .wr_id = i,
						 .sg_list = &sge,
						 .num_sge = 1,
						 .opcode = IBV_WR_RDMA_READ,
						 .send_flags = signalled ? IBV_SEND_SIGNALED : 0,
						 .wr.rdma = {(uintptr_t)scene->source.bytes + i * BLOCK,
							     scene->source.mr->rkey + (i == wrong)},
					 };
		/* A queue pair that is in error meanwhile takes and flushes them. */
		CHECK_EQUAL(ibv_post_send(scene->pair.a.qp, &wr, &bad), 0);
	}
}

static void expect_bytes(struct scene *scene, int blocks)
{
	CHECK(!memcmp(scene->sink.bytes, scene->source.bytes, (size_t)blocks * BLOCK));
}

static void comesWhenPolled(void)
{
	struct scene scene;

	open_scene(&scene);
	post_burst(&scene, true, -1);
	for (int i = 0; i < BURST; i++)
		expect_completion(scene.pair.a.cq, i, IBV_WC_SUCCESS);
	expect_bytes(&scene, BURST);
	close_scene(&scene);
}

/* Many times, so that it is not made to wait for ever anew. */
static void comesWithoutAnyCall(void)
{
	struct scene scene;
	uint64_t deadline = test_now_ms() + WAIT_MS;

	open_scene(&scene);
	post_burst(&scene, false, -1);
	while (memcmp((uint8_t *)scene.sink.bytes, scene.source.bytes, BYTES)) {
		CHECK(test_now_ms() < deadline);
		usleep(200);
	}
	close_scene(&scene);
}

static void expect_event(struct side *side)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(test_readable(side->channel->fd, WAIT_MS));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(side->channel, &cq, &context), 0);
	CHECK(cq == side->cq);
	softverbs_ibv_ack_cq_events(cq, 1);
}

static void raisesTheEvent(bool asked_before)
{
	struct scene scene;
	struct side *a = &scene.pair.a;

	open_scene(&scene);
	if (asked_before)
		CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), 0);
	post_burst(&scene, true, -1);
	for (int seen = 0; seen < BURST;) {
		struct ibv_wc wc;

		if (!asked_before && !seen) { /* what has completed until now makes no event */
			CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), 0);
			while (ibv_poll_cq(a->cq, 1, &wc))
				CHECK_EQUAL(wc.wr_id, seen++);
			continue;
		}
		if (seen < BURST && asked_before)
			expect_event(a);
		CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), 0);
		while (ibv_poll_cq(a->cq, 1, &wc)) {
			CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
			CHECK_EQUAL(wc.wr_id, seen++);
		}
		if (!asked_before && seen < BURST)
			expect_event(a);
	}
	expect_bytes(&scene, BURST);
	close_scene(&scene);
}

static void keepsTheCauseOfTheFirstFailure(int wrong)
{
	struct scene scene;

	open_scene(&scene);
	post_burst(&scene, true, wrong);
	for (int i = 0; i < BURST; i++)
		expect_completion(scene.pair.a.cq, i,
				  i < wrong    ? IBV_WC_SUCCESS
				  : i == wrong ? IBV_WC_REM_ACCESS_ERR
					       : IBV_WC_WR_FLUSH_ERR);
	expect_bytes(&scene, wrong);
	close_scene(&scene);
}

static void flushesWhatWaits(void)
{
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	struct scene scene;
	bool flushing = false;

	open_scene(&scene);
	post_burst(&scene, true, -1);
	CHECK_EQUAL(softverbs_ibv_modify_qp(scene.pair.a.qp, &error, IBV_QP_STATE), 0);
	for (int i = 0; i < BURST; i++) {
		struct ibv_wc wc = wait_completion(scene.pair.a.cq);

		CHECK_EQUAL(wc.wr_id, i);
		flushing |= wc.status != IBV_WC_SUCCESS;
		CHECK_EQUAL(wc.status, flushing ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	}
	close_scene(&scene);
}

static void goesWithTheQueuePair(void)
{
	struct scene scene;

	open_scene(&scene);
	post_burst(&scene, true, -1);
	close_scene(&scene);
}

static void body(void)
{
	comesWhenPolled();
	for (int i = 0; i < 12; i++)
		comesWithoutAnyCall();
	raisesTheEvent(true);
	raisesTheEvent(false);
	keepsTheCauseOfTheFirstFailure(1);
	keepsTheCauseOfTheFirstFailure(40);
	flushesWhatWaits();
	goesWithTheQueuePair();
}

int main(void)
{
	on_each_path(body);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A READ that the responder must refuse ends as REM_ACCESS_ERR at the one end and as IBV_EVENT_QP_ACCESS_ERR at
 * the other (REM_INV_REQ_ERR and IBV_EVENT_QP_REQ_ERR if the QP is not set up for READs), both QPs are in ERR, and
 * what was posted behind it is flushed; the same on every path.
 */
#include "softdev_fixture.h"

enum { BYTES = 65536 };

struct scene {
	struct pair pair;
	struct region sink, source;
};

static void open_scene(struct scene *scene, int source_access, const struct connection *b)
{
	open_pair(&scene->pair, NULL, b);
	scene->sink = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, BYTES, source_access);
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	close_pair(&scene->pair);
}

static void expect_refusal_as(struct scene *scene, uint64_t address, uint32_t length, uint32_t rkey,
			      enum ibv_wc_status status, enum ibv_event_type event)
{
	struct side *a = &scene->pair.a, *b = &scene->pair.b;

	CHECK_EQUAL(post_read(a->qp, 1, &scene->sink, length, address, rkey), 0);
	CHECK_EQUAL(post_read(a->qp, 2, &scene->sink, 1, address, rkey), 0);
	expect_completion(a->cq, 1, status);
	expect_completion(a->cq, 2, IBV_WC_WR_FLUSH_ERR);
	expect_async(b, event);
	expect_state(a->qp, IBV_QPS_ERR);
	expect_state(b->qp, IBV_QPS_ERR);
	CHECK_EQUAL(post_read(a->qp, 3, &scene->sink, 1, address, rkey), 0);
	expect_completion(a->cq, 3, IBV_WC_WR_FLUSH_ERR);
}

static void expect_refusal(struct scene *scene, uint64_t address, uint32_t length, uint32_t rkey)
{
	expect_refusal_as(scene, address, length, rkey, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
}

CASE(wrong_rkey)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	expect_refusal(&scene, (uintptr_t)scene.source.bytes, 8, scene.source.mr->rkey + 1);
	close_scene(&scene);
}

CASE(lkey_in_place_of_rkey)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	CHECK(scene.source.mr->lkey != scene.source.mr->rkey);
	expect_refusal(&scene, (uintptr_t)scene.source.bytes, 8, scene.source.mr->lkey);
	close_scene(&scene);
}

CASE(out_of_bounds)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	expect_refusal(&scene, (uintptr_t)scene.source.bytes + BYTES - 7, 8, scene.source.mr->rkey);
	close_scene(&scene);
}

CASE(before_the_region)
{
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, NULL);
	expect_refusal(&scene, (uintptr_t)scene.source.bytes - 1, 8, scene.source.mr->rkey);
	close_scene(&scene);
}

CASE(region_without_remote_read)
{
	struct scene scene;

	open_scene(&scene, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, NULL);
	expect_refusal(&scene, (uintptr_t)scene.source.bytes, 8, scene.source.mr->rkey);
	close_scene(&scene);
}

CASE(queue_pair_without_remote_read)
{
	static const struct connection narrow = {.access = IBV_ACCESS_REMOTE_WRITE};
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, &narrow);
	expect_refusal_as(&scene, (uintptr_t)scene.source.bytes, 8, scene.source.mr->rkey,
			  IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	close_scene(&scene);
}

CASE(region_of_another_domain)
{
	struct scene scene;
	struct ibv_pd *other;
	struct region foreign;

	open_scene(&scene, ALL_REMOTE, NULL);
	other = softverbs_ibv_alloc_pd(scene.pair.b.context);
	foreign = create_region(other, BYTES, ALL_REMOTE);
	expect_refusal(&scene, (uintptr_t)foreign.bytes, 8, foreign.mr->rkey);
	destroy_region(&foreign);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(other), 0);
	close_scene(&scene);
}

CASE(deregistered_region)
{
	struct scene scene;
	uint32_t rkey;

	open_scene(&scene, ALL_REMOTE, NULL);
	rkey = scene.source.mr->rkey;
	CHECK_EQUAL(post_read(scene.pair.a.qp, 9, &scene.sink, 8, (uintptr_t)scene.source.bytes, rkey), 0);
	expect_completion(scene.pair.a.cq, 9, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene.source.mr), 0);
	scene.source.mr = NULL;
	expect_refusal(&scene, (uintptr_t)scene.source.bytes, 8, rkey);
	close_scene(&scene);
}

CASE(no_responder_resources)
{
	static const struct connection none = {.no_responder_resources = true};
	struct scene scene;

	open_scene(&scene, ALL_REMOTE, &none);
	expect_refusal_as(&scene, (uintptr_t)scene.source.bytes, 8, scene.source.mr->rkey,
			  IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
	close_scene(&scene);
}

/* Local mistakes: the responder is innocent and stays as it is. */
static void expect_local_error(struct scene *scene, struct ibv_sge sge)
{
	CHECK_EQUAL(post(scene->pair.a.qp, IBV_WR_RDMA_READ, 1, sge, (uintptr_t)scene->source.bytes,
			 scene->source.mr->rkey),
		    0);
	expect_completion(scene->pair.a.cq, 1, IBV_WC_LOC_PROT_ERR);
	expect_state(scene->pair.a.qp, IBV_QPS_ERR);
	CHECK_EQUAL(state_of(scene->pair.b.qp), IBV_QPS_RTS);
	close_scene(scene);
}

CASE(wrong_lkey)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, ALL_REMOTE, NULL);
	sge = sge_of(&scene.sink, 0, 8);
	sge.lkey++;
	expect_local_error(&scene, sge);
}

CASE(sink_out_of_bounds)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, ALL_REMOTE, NULL);
	sge = sge_of(&scene.sink, BYTES - 4, 8);
	expect_local_error(&scene, sge);
}

CASE(sink_without_local_write)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, ALL_REMOTE, NULL);
	destroy_region(&scene.sink);
	scene.sink = create_region(scene.pair.a.pd, BYTES, 0);
	sge = sge_of(&scene.sink, 0, 8);
	expect_local_error(&scene, sge);
}

CASE(sink_not_mapped)
{
	struct scene scene;
	struct ibv_sge sge;

	open_scene(&scene, ALL_REMOTE, NULL);
	CHECK(!mprotect(scene.sink.bytes, BYTES, PROT_NONE));
	sge = sge_of(&scene.sink, 0, BYTES);
	expect_local_error(&scene, sge);
}

int main(void)
{
	on_each_path(run_cases);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a chain of READs the first that cannot be done keeps its cause, whatever it is and wherever it stands: those before
 * it bring their bytes, those behind it are flushed. The same on every path, signalled or not.
 */
#include "softdev_fixture.h"

enum { CHAIN = 64, BYTES = 512 * 1024, BLOCK = BYTES / CHAIN };

enum defect {
	WRONG_RKEY,
	BEYOND_THE_REGION,
	REGION_DEREGISTERED,
	WRONG_LKEY,
	BEYOND_THE_SINK,
	SINK_READ_ONLY,
	SINK_UNMAPPED,
	DEFECTS
};

struct scene {
	struct pair pair;
	struct region sink, source, gone, read_only, unmapped;
	struct ibv_send_wr wr[CHAIN];
	struct ibv_sge sge[CHAIN];
};

/* Lengths differ; block i goes to the place of i. */
static uint32_t length_of(int i)
{
	return BLOCK - i * 7;
}

static void open_scene(struct scene *scene)
{
	struct ibv_pd *a, *b;

	open_pair(&scene->pair, NULL, NULL);
	a = scene->pair.a.pd;
	b = scene->pair.b.pd;
	scene->sink = create_region(a, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(b, BYTES, ALL_REMOTE);
	scene->gone = create_region(b, BYTES, ALL_REMOTE);
	scene->read_only = create_region(a, BYTES, 0);
	scene->unmapped = create_region(a, BYTES, IBV_ACCESS_LOCAL_WRITE);
	CHECK(!mprotect(scene->unmapped.bytes, BYTES, PROT_NONE));
	fill_pattern(scene->source.bytes, BYTES, 3);
	for (int i = 0; i < CHAIN; i++) {
		scene->sge[i] = sge_of(&scene->sink, i * BLOCK, length_of(i));
		scene->wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < CHAIN ? &scene->wr[i + 1] : NULL,
			.sg_list = &scene->sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.wr.rdma = {(uintptr_t)scene->source.bytes + i * BLOCK, scene->source.mr->rkey},
		};
	}
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	destroy_region(&scene->gone);
	destroy_region(&scene->read_only);
	destroy_region(&scene->unmapped);
	close_pair(&scene->pair);
}

/* Returns the status that this must end with. */
static enum ibv_wc_status spoil(struct scene *scene, int k, enum defect defect)
{
	struct ibv_send_wr *wr = &scene->wr[k];
	struct ibv_sge *sge = &scene->sge[k];

	switch (defect) {
	case WRONG_RKEY:
		wr->wr.rdma.rkey++;
		return IBV_WC_REM_ACCESS_ERR;
	case BEYOND_THE_REGION:
		wr->wr.rdma.remote_addr = (uintptr_t)scene->source.bytes + BYTES - length_of(k) + 1;
		return IBV_WC_REM_ACCESS_ERR;
	case REGION_DEREGISTERED:
		wr->wr.rdma.remote_addr = (uintptr_t)scene->gone.bytes;
		wr->wr.rdma.rkey = scene->gone.mr->rkey;
		CHECK_EQUAL(softverbs_ibv_dereg_mr(scene->gone.mr), 0);
		scene->gone.mr = NULL;
		return IBV_WC_REM_ACCESS_ERR;
	case WRONG_LKEY:
		sge->lkey++;
		break;
	case BEYOND_THE_SINK:
		sge->addr = (uintptr_t)scene->sink.bytes + BYTES - length_of(k) + 1;
		break;
	case SINK_READ_ONLY:
		*sge = sge_of(&scene->read_only, 0, length_of(k));
		break;
	default:
		*sge = sge_of(&scene->unmapped, 0, length_of(k));
		break;
	}
	return IBV_WC_LOC_PROT_ERR;
}

static void check_blocks(const struct scene *scene, int from, int to)
{
	for (int i = from; i < to; i++)
		CHECK(!memcmp(scene->sink.bytes + i * BLOCK, scene->source.bytes + i * BLOCK, length_of(i)));
}

static void expect_first_failure_at(int k, enum defect defect, bool signalled)
{
	enum ibv_wc_status expected;
	struct ibv_send_wr *bad;
	struct scene scene;
	struct side *a = &scene.pair.a;

	open_scene(&scene);
	expected = spoil(&scene, k, defect);
	for (int i = 0; i < CHAIN; i++)
		scene.wr[i].send_flags = signalled ? IBV_SEND_SIGNALED : 0;
	CHECK_EQUAL(ibv_post_send(a->qp, scene.wr, &bad), 0);
	for (int i = 0; signalled && i < k; i++) {
		struct ibv_wc wc = wait_completion(a->cq);

		CHECK_EQUAL(wc.wr_id, i);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
		CHECK_EQUAL(wc.byte_len, length_of(i));
	}
	expect_completion(a->cq, k, expected);
	for (int i = k + 1; i < CHAIN; i++)
		expect_completion(a->cq, i, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(a->cq);
	check_blocks(&scene, 0, k);
	expect_state(a->qp, IBV_QPS_ERR);
	if (expected == IBV_WC_REM_ACCESS_ERR)
		expect_state(scene.pair.b.qp, IBV_QPS_ERR);
	else
		CHECK_EQUAL(state_of(scene.pair.b.qp), IBV_QPS_RTS);
	close_scene(&scene);
}

static void body(void)
{
	static const int places[] = {0, 1, 30, CHAIN - 1};

	for (enum defect defect = 0; defect < DEFECTS; defect++)
		for (unsigned int i = 0; i < sizeof(places) / sizeof(*places); i++)
			expect_first_failure_at(places[i], defect, i % 2 == (unsigned int)defect % 2);
}

int main(void)
{
	on_each_path(body);
}

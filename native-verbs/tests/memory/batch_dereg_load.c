/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions are deregistered and given other contents while a peer reads them by chains: a READ that succeeds brought the
 * bytes of its region. A sink that is deregistered meanwhile is not written to any more.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BLOCK = 8000, CHAIN = 32, BYTES = BLOCK * CHAIN, ROUNDS = 120 };

struct scene {
	struct pair pair;
	struct region sink, source, other;
	int round;
	atomic_bool started;
	_Atomic uint64_t chains;
};

static struct scene *open_scene(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	open_pair(&scene->pair, NULL, NULL);
	scene->sink = create_region(scene->pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	scene->source = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
	scene->other = create_region(scene->pair.b.pd, BYTES, ALL_REMOTE);
	memset(scene->source.bytes, 0x11, BYTES);
	memset(scene->other.bytes, 0x22, BYTES);
	return scene;
}

static void close_scene(struct scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	destroy_region(&scene->other);
	close_pair(&scene->pair);
	free(scene);
}

static bool is_all(const uint8_t *bytes, uint8_t value, size_t length)
{
	return bytes[0] == value && !memcmp(bytes, bytes + 1, length - 1);
}

/* Posts chains that read both regions in turns until one fails; checks what came before that. */
static enum ibv_wc_status read_until_refused(struct scene *scene, uint32_t lkey, const uint32_t *rkeys,
					     bool sink_is_taken)
{
	const struct region *sources[] = {&scene->source, &scene->other};
	enum ibv_wc_status worst = IBV_WC_SUCCESS;
	struct ibv_send_wr wr[CHAIN], *bad;
	struct ibv_sge sge[CHAIN];

	for (int i = 0; i < CHAIN; i++) {
		sge[i] = (struct ibv_sge){(uintptr_t)scene->sink.bytes + i * BLOCK, BLOCK, lkey};
		wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < CHAIN ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.rdma = {(uintptr_t)sources[i % 2]->bytes + i * BLOCK, rkeys[i % 2]},
		};
	}
	while (worst == IBV_WC_SUCCESS) {
		CHECK_EQUAL(ibv_post_send(scene->pair.a.qp, wr, &bad), 0);
		atomic_fetch_add(&scene->chains, 1);
		for (int i = 0; i < CHAIN; i++) {
			struct ibv_wc wc = wait_completion(scene->pair.a.cq);

			CHECK_EQUAL(wc.wr_id, i);
			if (wc.status == IBV_WC_SUCCESS)
				CHECK(sink_is_taken || is_all(scene->sink.bytes + i * BLOCK, i % 2 ? 0x22 : 0x11, BLOCK));
			else if (worst == IBV_WC_SUCCESS)
				worst = wc.status;
			else
				CHECK_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		}
	}
	return worst;
}

static void wait_for_load(struct scene *scene)
{
	while (atomic_load(&scene->chains) < 3)
		usleep(20);
	usleep(scene->round % 13 * 40);
}

static void *withdraw_source(void *argument)
{
	struct scene *scene = argument;

	wait_for_load(scene);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene->other.mr), 0);
	scene->other.mr = NULL;
	if (scene->other.fd < 0) /* a file keeps its bytes for who has its descriptor */
		memset(scene->other.bytes, 0xee, BYTES);
	return NULL;
}

static void *withdraw_sink(void *argument)
{
	struct scene *scene = argument;

	wait_for_load(scene);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(scene->sink.mr), 0);
	scene->sink.mr = NULL;
	memset(scene->sink.bytes, 0x77, BYTES);
	return NULL;
}

static void run(int round, bool of_sink)
{
	struct scene *scene = open_scene();
	uint32_t rkeys[] = {scene->source.mr->rkey, scene->other.mr->rkey};
	pthread_t thread;

	scene->round = round;
	CHECK(!pthread_create(&thread, NULL, of_sink ? withdraw_sink : withdraw_source, scene));
	CHECK_EQUAL(read_until_refused(scene, scene->sink.mr->lkey, rkeys, of_sink),
		    of_sink ? IBV_WC_LOC_PROT_ERR : IBV_WC_REM_ACCESS_ERR);
	CHECK(!pthread_join(thread, NULL));
	if (of_sink)
		CHECK(is_all(scene->sink.bytes, 0x77, BYTES));
	close_scene(scene);
}

static void body(void)
{
	for (int round = 0; round < ROUNDS; round++)
		run(round, round % 2);
}

int main(void)
{
	on_each_path(body);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of READs of all sizes with scatter lists, from several regions into several sinks, with WRITEs among them:
 * every byte where it belongs, executed in order, one completion for each that asked for it.
 */
#include "random.h"
#include "softdev_fixture.h"

/* The last WRITTEN_BYTES of a source are for WRITEs. */
enum { CHAIN = 60, LIST = 4, REGIONS = 3, BYTES = 4 << 20, WRITTEN_BYTES = 4096, ROUNDS = 20 };

struct scene {
	struct pair pair;
	struct region *sink[REGIONS], *source[REGIONS];
	uint8_t *expected[REGIONS]; /* what the sinks should hold */
	struct ibv_send_wr wr[CHAIN];
	struct ibv_sge sge[CHAIN][LIST];
	size_t used[REGIONS]; /* of the sinks */
};

static uint32_t random_length(void)
{
	return 1 + next_random(next_random(8) ? 3000 : 150000);
}

/* A READ of random bytes into the next free places of random sinks. */
static void add_read(struct scene *scene, int i)
{
	const struct region *source = scene->source[next_random(REGIONS)];
	uint32_t length = random_length(), left = length;
	uint64_t from = next_random(BYTES - WRITTEN_BYTES - length);
	int count = 1 + next_random(LIST);

	for (int k = 0; k < count; k++) {
		uint32_t part = k + 1 == count ? left : next_random(left + 1);
		int number = next_random(REGIONS);

		CHECK(scene->used[number] + part <= BYTES);
		scene->sge[i][k] = sge_of(scene->sink[number], scene->used[number], part);
		memcpy(scene->expected[number] + scene->used[number],
		       source->bytes + from + (length - left), part);
		scene->used[number] += part;
		left -= part;
	}
	scene->wr[i].num_sge = count;
	scene->wr[i].opcode = IBV_WR_RDMA_READ;
	scene->wr[i].wr.rdma.remote_addr = (uintptr_t)source->bytes + from;
	scene->wr[i].wr.rdma.rkey = source->mr->rkey;
}

/* A WRITE of what was read first in this chain, then a READ of that back: only in order does this work. */
static void add_write_and_read(struct scene *scene, int i)
{
	struct ibv_sge first = scene->sge[0][0];
	uint64_t to = (uintptr_t)scene->source[0]->bytes + BYTES - WRITTEN_BYTES;
	uint8_t *bytes = (uint8_t *)(uintptr_t)first.addr;

	scene->sge[i][0] = first;
	scene->sge[i + 1][0] = sge_of(scene->sink[1], scene->used[1], first.length);
	memcpy(scene->expected[1] + scene->used[1], scene->expected[0] + (bytes - scene->sink[0]->bytes),
	       first.length);
	scene->used[1] += first.length;
	for (int k = 0; k < 2; k++) {
		scene->wr[i + k].num_sge = 1;
		scene->wr[i + k].opcode = k ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE;
		scene->wr[i + k].wr.rdma.remote_addr = to;
		scene->wr[i + k].wr.rdma.rkey = scene->source[0]->mr->rkey;
	}
}

static void fill_chain(struct scene *scene, int round)
{
	memset(scene->used, 0, sizeof(scene->used));
	for (int i = 0; i < CHAIN; i++)
		scene->wr[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i + 1 < CHAIN ? &scene->wr[i + 1] : NULL,
			.sg_list = scene->sge[i],
			.send_flags = (i + round) % 3 && i + 1 < CHAIN ? 0 : IBV_SEND_SIGNALED,
		};
	/* The first one, into the first sink, is what the WRITE sends. */
	scene->sge[0][0] = sge_of(scene->sink[0], 0, 1000 + round);
	scene->wr[0].num_sge = 1;
	scene->wr[0].opcode = IBV_WR_RDMA_READ;
	scene->wr[0].wr.rdma.remote_addr = (uintptr_t)scene->source[1]->bytes + round;
	scene->wr[0].wr.rdma.rkey = scene->source[1]->mr->rkey;
	memcpy(scene->expected[0], scene->source[1]->bytes + round, 1000 + round);
	scene->used[0] = 1000 + round;
	for (int i = 1; i < CHAIN; i++)
		if (i == 20 + round)
			add_write_and_read(scene, i++);
		else
			add_read(scene, i);
}

static void run_chain(struct scene *scene, int round)
{
	struct ibv_send_wr *bad;

	for (int i = 0; i < REGIONS; i++) {
		memset(scene->sink[i]->bytes, 0, BYTES);
		memset(scene->expected[i], 0, BYTES);
	}
	fill_chain(scene, round);
	CHECK_EQUAL(ibv_post_send(scene->pair.a.qp, scene->wr, &bad), 0);
	for (int i = 0; i < CHAIN; i++)
		if (scene->wr[i].send_flags)
			expect_completion(scene->pair.a.cq, i, IBV_WC_SUCCESS);
	expect_no_completion(scene->pair.a.cq);
	for (int i = 0; i < REGIONS; i++)
		CHECK(!memcmp(scene->sink[i]->bytes, scene->expected[i], BYTES));
}

static void body(void)
{
	struct scene scene;

	random_start();
	open_pair(&scene.pair, NULL, NULL);
	for (int i = 0; i < REGIONS; i++) {
		scene.sink[i] = add_region(&scene.pair.a, BYTES, ALL_REMOTE);
		scene.source[i] = add_region(&scene.pair.b, BYTES, ALL_REMOTE);
		scene.expected[i] = malloc(BYTES);
		fill_pattern(scene.source[i]->bytes, BYTES, i);
	}
	for (int round = 0; round < ROUNDS; round++)
		run_chain(&scene, round);
	for (int i = 0; i < REGIONS; i++)
		free(scene.expected[i]);
	close_pair(&scene.pair);
}

MAIN(on_each_path, body)

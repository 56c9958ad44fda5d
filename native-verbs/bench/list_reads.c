/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of 64 READs, posted as one chain of which the last is signalled, against a pread of each range: of 64 files,
 * one READ each, and of one file whose ranges follow one another there and in the sink.
 */
#define _GNU_SOURCE
#include "scene.h"

enum { LIST = SCENE_FILES, MAX_BYTES = 64 << 10, FILE_BYTES = 4 << 20 };

static struct scene scene;
static uint32_t size, next_range;
static bool one_file;
static struct ibv_send_wr wr[LIST];
static struct ibv_sge sge[LIST];

/* Returns the place of the next range of this list in its file. */
static uint64_t place(int i)
{
	uint64_t bytes = one_file ? (uint64_t)size * LIST : size;
	uint64_t at = next_range * bytes % (FILE_BYTES - bytes + 1);

	return one_file ? at + (uint64_t)i * size : at;
}

static int file_of(int i)
{
	return one_file ? 0 : i;
}

static void raw(void *unused, uint64_t operations)
{
	(void)unused;
	for (; operations; operations -= LIST, next_range++)
		for (int i = 0; i < LIST; i++)
			CHECK_EQUAL(pread(scene.file[file_of(i)], scene.sink.bytes + (uint64_t)i * size, size, place(i)), size);
}

static void device(void *unused, uint64_t operations)
{
	struct ibv_send_wr *bad;

	(void)unused;
	for (; operations; operations -= LIST, next_range++) {
		for (int i = 0; i < LIST; i++)
			wr[i].wr.rdma.remote_addr = scene.source + (uint64_t)file_of(i) * FILE_BYTES + place(i);
		CHECK_EQUAL(ibv_post_send(scene.side.qp, wr, &bad), 0);
		scene_await(scene.side.cq, 1);
	}
}

static void run_case(void)
{
	char name[64];
	const struct bench_case one = {
		.name = name,
		.bytes = size,
		.step = LIST,
		.aim = AIM_CPU,
		.raw = raw,
		.device = device,
	};

	snprintf(name, sizeof(name), "%s, %u KiB", one_file ? "neighbours in a file" : "64 files", size >> 10);
	for (int i = 0; i < LIST; i++) {
		sge[i] = sge_of(&scene.sink, (uint64_t)i * size, size);
		wr[i] = (struct ibv_send_wr){
			.next = i + 1 < LIST ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = i + 1 < LIST ? 0 : IBV_SEND_SIGNALED,
			.wr.rdma.rkey = scene.rkey[file_of(i)],
		};
	}
	bench_run(&one, NULL);
}

static void body(void)
{
	static const uint32_t sizes[] = {1 << 10, 4 << 10, 12 << 10, MAX_BYTES};

	scene.regions = LIST;
	scene_open(&scene, (size_t)LIST * FILE_BYTES, LIST * MAX_BYTES);
	bench_pin(pthread_self(), 0);
	for (int i = 0; i < 8; i++) {
		size = sizes[i / 2];
		one_file = i % 2;
		run_case();
	}
	scene_close(&scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "lists of 64 READs by file, device / raw CPU");
	scene_on_path("file", body);
	return 0;
}

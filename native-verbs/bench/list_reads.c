/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of 64 READs, posted as one chain of which the last is signalled, against a pread of each range: of 64 files,
 * one READ each, and of one file whose ranges follow one another there and in the sink. Then two threads, each on a
 * queue pair of its own, read from the same 64 files.
 */
#define _GNU_SOURCE
#include "scene.h"

enum { LIST = SCENE_FILES, MAX_BYTES = 64 << 10, FILE_BYTES = 4 << 20, THREADS = 2 };

enum kind { FILES, NEIGHBOURS, FILES_BY_TWO, KINDS };

struct worker {
	struct ibv_qp *qp;
	uint8_t *sink;
	uint64_t operations;
	uint32_t next_range;
	struct ibv_send_wr wr[LIST];
	struct ibv_sge sge[LIST];
};

static struct scene scene;
static uint32_t size;
static bool one_file;
static unsigned int threads;
static struct worker workers[THREADS];

/* Returns the place of the next range of this list in its file. */
static uint64_t place(const struct worker *worker, int i)
{
	uint64_t bytes = one_file ? (uint64_t)size * LIST : size;
	uint64_t at = worker->next_range * bytes % (FILE_BYTES - bytes + 1);

	return one_file ? at + (uint64_t)i * size : at;
}

static int file_of(int i)
{
	return one_file ? 0 : i;
}

static void *raw(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t done = 0; done < worker->operations; done += LIST, worker->next_range++)
		for (int i = 0; i < LIST; i++)
			CHECK_EQUAL(pread(scene.file[file_of(i)], worker->sink + (uint64_t)i * size, size, place(worker, i)),
				    size);
	return NULL;
}

static void *device(void *argument)
{
	struct worker *worker = argument;
	struct ibv_send_wr *bad;

	for (uint64_t done = 0; done < worker->operations; done += LIST, worker->next_range++) {
		for (int i = 0; i < LIST; i++)
			worker->wr[i].wr.rdma.remote_addr =
				scene.source + (uint64_t)file_of(i) * FILE_BYTES + place(worker, i);
		CHECK_EQUAL(ibv_post_send(worker->qp, worker->wr, &bad), 0);
		scene_await(worker->qp->send_cq, 1);
	}
	return NULL;
}

static void on_threads(void *(*run)(void *), uint64_t operations)
{
	for (unsigned int i = 0; i < threads; i++)
		workers[i].operations = operations / threads;
	bench_run_both(run, &workers[0], threads > 1 ? &workers[1] : NULL);
}

static void run_raw(void *unused, uint64_t operations)
{
	(void)unused;
	on_threads(raw, operations);
}

static void run_device(void *unused, uint64_t operations)
{
	(void)unused;
	on_threads(device, operations);
}

static void prepare(struct worker *worker, unsigned int number)
{
	uint64_t offset = (uint64_t)number * LIST * MAX_BYTES;

	worker->qp = scene.qp[number];
	worker->sink = scene.sink.bytes + offset;
	for (int i = 0; i < LIST; i++) {
		worker->sge[i] = sge_of(&scene.sink, offset + (uint64_t)i * size, size);
		chain_read(worker->wr, i, LIST, &worker->sge[i], 0, scene.rkey[file_of(i)]);
		worker->wr[i].send_flags = worker->wr[i].next ? 0 : IBV_SEND_SIGNALED;
	}
}

static void run_case(enum kind kind)
{
	static const char *const names[] = {"64 files", "neighbours in a file", "64 files, 2 threads"};
	char name[64];
	const struct bench_case one = {
		.name = name,
		.bytes = size,
		.step = LIST * THREADS,
		.aim = AIM_CPU,
		.raw = run_raw,
		.device = run_device,
	};

	one_file = kind == NEIGHBOURS;
	threads = kind == FILES_BY_TWO ? 2 : 1;
	snprintf(name, sizeof(name), "%s, %u KiB", names[kind], size >> 10);
	for (unsigned int i = 0; i < THREADS; i++)
		prepare(&workers[i], i);
	bench_run(&one, NULL);
}

static void body(void)
{
	static const uint32_t sizes[] = {1 << 10, 4 << 10, 12 << 10, MAX_BYTES};

	scene.regions = LIST;
	scene_open(&scene, (size_t)LIST * FILE_BYTES, THREADS * LIST * MAX_BYTES);
	bench_pin(pthread_self(), 0);
	for (unsigned int i = 0; i < COUNT_OF(sizes); i++)
		for (enum kind kind = 0; kind < KINDS; kind++) {
			size = sizes[i];
			run_case(kind);
		}
	scene_close(&scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "lists of 64 READs by file, device / raw CPU");
	scene_on_path("file", body);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs of 1 KiB at random addresses of a large, resident region, posted 64 at a time by one or two threads, against
 * one process_vm_readv of 64 iovecs on each side (path cma) or 64 preads (path file).
 */
#define _GNU_SOURCE
#include "scene.h"

#include <stdatomic.h>
#include <sys/uio.h>

enum { BYTES = 1024, BATCH = 64, THREADS = 2, OFFSETS = 1 << 20 };

static struct scene scene;
static uint64_t offsets[OFFSETS];
static unsigned int threads;
static bool all_signalled, shared_cq;
static _Atomic uint64_t completed[THREADS];

struct worker {
	unsigned int number;
	uint64_t operations;
	uint32_t next;
	struct ibv_qp *qp;
	struct ibv_send_wr wr[BATCH];
	struct ibv_sge sge[BATCH];
	struct iovec local[BATCH], remote[BATCH];
};

static struct worker workers[THREADS];

static uint64_t next_offset(struct worker *worker)
{
	return offsets[worker->next++ % OFFSETS];
}

static void *raw_process(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t done = 0; done < worker->operations; done += BATCH) {
		for (int i = 0; i < BATCH; i++)
			worker->remote[i].iov_base = (void *)(uintptr_t)(scene.source + next_offset(worker));
		CHECK_EQUAL(process_vm_readv(scene.peer.pid, worker->local, BATCH, worker->remote, BATCH, 0),
			    BATCH * BYTES);
	}
	return NULL;
}

static void *raw_file(void *argument)
{
	struct worker *worker = argument;

	for (uint64_t done = 0; done < worker->operations; done++)
		CHECK_EQUAL(pread(scene.file[0], worker->local[done % BATCH].iov_base, BYTES, next_offset(worker)),
			    BYTES);
	return NULL;
}

/* A completion may be of the other thread when the two share a queue. */
static void await(struct worker *worker, uint64_t until)
{
	while (atomic_load_explicit(&completed[worker->number], memory_order_relaxed) < until) {
		struct ibv_wc wc[16];
		int polled = ibv_poll_cq(worker->qp->send_cq, 16, wc);
		uint64_t of_thread[THREADS] = {0};

		CHECK(polled >= 0);
		for (int i = 0; i < polled; i++) {
			CHECK_EQUAL(wc[i].status, IBV_WC_SUCCESS);
			of_thread[wc[i].wr_id]++;
		}
		for (unsigned int i = 0; i < THREADS; i++)
			if (of_thread[i])
				atomic_fetch_add_explicit(&completed[i], of_thread[i], memory_order_relaxed);
	}
}

static void *device(void *argument)
{
	struct worker *worker = argument;
	uint64_t awaited = atomic_load(&completed[worker->number]);

	for (uint64_t done = 0; done < worker->operations; done += BATCH) {
		struct ibv_send_wr *bad;

		for (int i = 0; i < BATCH; i++)
			worker->wr[i].wr.rdma.remote_addr = scene.source + next_offset(worker);
		CHECK_EQUAL(ibv_post_send(worker->qp, worker->wr, &bad), 0);
		awaited += all_signalled ? BATCH : 1;
		await(worker, awaited);
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
	on_threads(scene.file[0] >= 0 ? raw_file : raw_process, operations);
}

static void run_device(void *unused, uint64_t operations)
{
	(void)unused;
	on_threads(device, operations);
}

static void prepare(struct worker *worker, unsigned int number)
{
	worker->number = number;
	worker->qp = scene.qp[number && shared_cq ? 2 : number];
	for (int i = 0; i < BATCH; i++) {
		uint64_t at = (uint64_t)(number * BATCH + i) * BYTES;

		worker->local[i] = (struct iovec){scene.sink.bytes + at, BYTES};
		worker->remote[i].iov_len = BYTES;
		worker->sge[i] = sge_of(&scene.sink, at, BYTES);
		chain_read(worker->wr, i, BATCH, &worker->sge[i], 0, scene.rkey[0]);
		worker->wr[i].wr_id = number;
		if (!all_signalled && worker->wr[i].next)
			worker->wr[i].send_flags = 0;
	}
}

static void run_case(void)
{
	char name[64];
	struct bench_case one = {
		.name = name,
		.bytes = BYTES,
		.step = BATCH * THREADS,
		.aim = AIM_COST,
		.limit = 1.4,
		.raw = run_raw,
		.device = run_device,
	};

	snprintf(name, sizeof(name), "chain, %u thread%s%s, %s", threads, threads > 1 ? "s" : "", shared_cq ? " on one CQ" : "",
		 all_signalled ? "all signalled" : "last signalled");
	for (unsigned int i = 0; i < THREADS; i++)
		prepare(&workers[i], i);
	bench_run(&one, NULL);
}

static void body(void)
{
	uint64_t seed = 42;

	scene_open(&scene, bench_is_smoke() ? 16 << 20 : 512 << 20, THREADS * BATCH * BYTES);
	for (int i = 0; i < OFFSETS; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		offsets[i] = (seed >> 24) % (scene.source_bytes - BYTES);
	}
	workers[1].next = OFFSETS / 2;
	bench_pin(pthread_self(), 0);
	for (int i = 0; i < 6; i++) {
		threads = i < 2 ? 1 : 2;
		shared_cq = i >= 4;
		all_signalled = i % 2;
		run_case();
	}
	scene_close(&scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "random READs 64 at a time by cma, device / raw time");
	scene_on_path("cma", body);
	bench_start(argc, argv, "random READs 64 at a time by file, device / raw time");
	scene_on_path("file", body);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A READ of two bytes from ibv_post_send to its polled completion, against the call that it is made of. */
#define _GNU_SOURCE
#include "scene.h"

#include <sys/uio.h>

enum { BYTES = 2 };

static struct scene scene;

static void raw_process(void *unused, uint64_t operations)
{
	struct iovec local = {scene.sink.bytes, BYTES}, remote = {(void *)(uintptr_t)scene.source, BYTES};

	(void)unused;
	for (; operations; operations--)
		CHECK_EQUAL(process_vm_readv(scene.peer.pid, &local, 1, &remote, 1, 0), BYTES);
}

static void raw_file(void *unused, uint64_t operations)
{
	(void)unused;
	for (; operations; operations--)
		CHECK_EQUAL(pread(scene.file[0], scene.sink.bytes, BYTES, 0), BYTES);
}

static void device(void *unused, uint64_t operations)
{
	(void)unused;
	for (; operations; operations--) {
		CHECK_EQUAL(post_read(scene.side.qp, 0, &scene.sink, BYTES, scene.source, scene.rkey[0]), 0);
		scene_await(scene.side.cq, 1);
	}
}

static void body(void)
{
	bool is_file = test_path_is("file");
	struct bench_case one = {
		.name = is_file ? "file" : "cma",
		.bytes = BYTES,
		.step = 1000,
		.aim = AIM_LATENCY,
		.limit = 0.3,
		.raw = is_file ? raw_file : raw_process,
		.device = device,
	};

	scene_open(&scene, 1 << 20, 1 << 20);
	bench_pin(pthread_self(), 1);
	bench_run(&one, NULL);
	scene_close(&scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "READ latency, device - raw time in us");
	scene_on_path("cma", body);
	scene_on_path("file", body);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One READ after the other from a large region, against the call that it is made of. All pages are resident. */
#define _GNU_SOURCE
#include "scene.h"

#include <sys/uio.h>

enum { SINK_BYTES = 16 << 20 };

static struct stream {
	struct scene scene;
	uint32_t size;
	uint64_t from, to;
} stream;

/* Both read the same bytes to the same places. */
static struct stream *restart(void *argument)
{
	struct stream *s = argument;

	s->from = s->to = 0;
	return s;
}

static void advance(struct stream *s)
{
	s->from += s->size;
	s->to += s->size;
	if (s->from + s->size > s->scene.source_bytes)
		s->from = 0;
	if (s->to + s->size > SINK_BYTES)
		s->to = 0;
}

static void raw_process(void *argument, uint64_t operations)
{
	struct stream *s = restart(argument);

	for (; operations; operations--, advance(s)) {
		struct iovec local = {s->scene.sink.bytes + s->to, s->size};
		struct iovec remote = {(void *)(uintptr_t)(s->scene.source + s->from), s->size};

		CHECK_EQUAL(process_vm_readv(s->scene.peer.pid, &local, 1, &remote, 1, 0), s->size);
	}
}

static void raw_file(void *argument, uint64_t operations)
{
	struct stream *s = restart(argument);

	for (; operations; operations--, advance(s))
		CHECK_EQUAL(pread(s->scene.file[0], s->scene.sink.bytes + s->to, s->size, s->from), s->size);
}

static void device(void *argument, uint64_t operations)
{
	struct stream *s = restart(argument);

	for (; operations; operations--, advance(s)) {
		CHECK_EQUAL(post(s->scene.side.qp, IBV_WR_RDMA_READ, 0,
				 sge_of(&s->scene.sink, s->to, s->size), s->scene.source + s->from,
				 s->scene.rkey[0]),
			    0);
		scene_await(s->scene.side.cq, 1);
	}
}

static void body(void)
{
	static const struct {
		const char *name;
		uint32_t size;
		bool judged;
	} sizes[] = {{"4 KiB", 4 << 10, false}, {"16 KiB", 16 << 10, false}, {"64 KiB", 64 << 10, true},
		     {"1 MiB", 1 << 20, true},	{"8 MiB", 8 << 20, false}};
	bool is_file = test_path_is("file");

	scene_open(&stream.scene, bench_is_smoke() ? SINK_BYTES : 256 << 20, SINK_BYTES);
	bench_pin(pthread_self(), 1);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		char name[64];
		struct bench_case one = {
			.name = name,
			.bytes = sizes[i].size,
			.step = 1,
			.aim = AIM_BANDWIDTH,
			.limit = sizes[i].judged ? 0.95 : 0,
			.raw = is_file ? raw_file : raw_process,
			.device = device,
		};

		snprintf(name, sizeof(name), "%s, %s", is_file ? "file" : "cma", sizes[i].name);
		stream.size = sizes[i].size;
		bench_run(&one, &stream);
	}
	scene_close(&stream.scene);
}

int main(int argc, char **argv)
{
	bench_start(argc, argv, "READ bandwidth, raw / device time");
	scene_on_path("cma", body);
	scene_on_path("file", body);
	return 0;
}

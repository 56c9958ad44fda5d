/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "scene.h"

#include <fcntl.h>
#include <pthread.h>

enum { BENCH_SECONDS = 1800 };

struct introduction {
	struct address address[SCENE_QPS];
	uint64_t source;
	uint32_t rkey[SCENE_FILES];
};

/* The side's own QP, one with a completion queue of its own, and one that shares. */
static void open_qps(struct side *side, struct ibv_cq **other_cq, struct ibv_qp **qp)
{
	struct side other;

	open_side(side, 4 * SCENE_DEPTH, SCENE_DEPTH);
	*other_cq = softverbs_ibv_create_cq(side->context, 4 * SCENE_DEPTH, NULL, NULL, 0);
	CHECK(*other_cq);
	other = *side;
	other.cq = *other_cq;
	qp[0] = side->qp;
	qp[1] = create_qp(&other, SCENE_DEPTH);
	qp[2] = create_qp(side, SCENE_DEPTH);
}

static void close_qps(struct side *side, struct ibv_cq *other_cq, struct ibv_qp **qp)
{
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp[1]), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp[2]), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(other_cq), 0);
	close_side(side);
	check_no_leaks();
}

static void introduce(const struct side *side, struct ibv_qp **qp, struct introduction *own)
{
	for (int i = 0; i < SCENE_QPS; i++) {
		struct side one = *side;

		one.qp = qp[i];
		own->address[i] = address_of(&one);
	}
}

static void connect_qps(struct ibv_qp **qp, const struct introduction *remote)
{
	for (int i = 0; i < SCENE_QPS; i++) {
		struct side one = {.qp = qp[i]};

		connect_side(&one, &remote->address[i], NULL);
	}
}

/* What the peer inherits. */
static const struct scene *inherited;

struct serving {
	const uint8_t *bytes;
	pthread_t thread;
};

static void *run_serve(void *argument)
{
	struct serving *serving = argument;

	inherited->serve(serving->bytes, inherited->source_bytes);
	return NULL;
}

/* Maps and registers each region; they follow one another in memory. Returns the first byte. */
static uint8_t *register_source(struct ibv_pd *pd, struct ibv_mr **mr)
{
	size_t bytes = inherited->source_bytes / inherited->regions;
	uint8_t *source = mmap(NULL, inherited->source_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(source != MAP_FAILED);
	for (unsigned int i = 0; i < inherited->regions; i++) {
		uint8_t *region = source + i * bytes;
		int file = inherited->file[i];

		if (file >= 0)
			CHECK(mmap(region, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == region);
		if (!inherited->files)
			memset(region, 0x5a, bytes);
		mr[i] = file >= 0 ? softverbs_reg_file_mr(pd, region, bytes, file, 0, ALL_REMOTE)
				  : softverbs_ibv_reg_mr(pd, region, bytes, ALL_REMOTE);
		CHECK(mr[i]);
	}
	return source;
}

static void serve(int fd)
{
	struct introduction own, remote;
	struct ibv_mr *mr[SCENE_FILES];
	struct ibv_qp *qp[SCENE_QPS];
	struct ibv_cq *other_cq;
	struct serving serving;
	struct side side;

	alarm(BENCH_SECONDS);
	if (inherited->prepare)
		inherited->prepare(fd, 0);
	open_qps(&side, &other_cq, qp);
	serving.bytes = register_source(side.pd, mr);
	introduce(&side, qp, &own);
	own.source = (uintptr_t)serving.bytes;
	for (unsigned int i = 0; i < inherited->regions; i++)
		own.rkey[i] = mr[i]->rkey;
	test_receive(fd, &remote, sizeof(remote));
	connect_qps(qp, &remote);
	if (inherited->serve)
		CHECK(!pthread_create(&serving.thread, NULL, run_serve, &serving));
	test_send(fd, &own, sizeof(own));
	CHECK(test_readable(fd, BENCH_SECONDS * 1000));
	for (unsigned int i = 0; i < inherited->regions; i++)
		CHECK_EQUAL(softverbs_ibv_dereg_mr(mr[i]), 0);
	close_qps(&side, other_cq, qp);
	if (inherited->serve)
		CHECK(!pthread_join(serving.thread, NULL));
}

static int create_file(size_t bytes)
{
	char name[] = "/tmp/softverbs-bench-XXXXXX";
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	unlink(name);
	CHECK(!ftruncate(fd, bytes));
	return fd;
}

void scene_open(struct scene *scene, size_t bytes, size_t sink_bytes)
{
	struct introduction own, remote;

	scene->source_bytes = bytes;
	if (!scene->regions)
		scene->regions = 1;
	for (unsigned int i = 0; i < scene->regions; i++)
		scene->file[i] = scene->files	       ? open(scene->files[i], O_RDWR | O_CLOEXEC)
				 : test_path_is("file") ? create_file(bytes / scene->regions)
							: -1;
	inherited = scene;
	scene->peer = test_start_peer(serve);
	alarm(BENCH_SECONDS);
	if (scene->prepare)
		scene->prepare(scene->peer.fd, scene->peer.pid);
	open_qps(&scene->side, &scene->other_cq, scene->qp);
	introduce(&scene->side, scene->qp, &own);
	test_send(scene->peer.fd, &own, sizeof(own));
	test_receive(scene->peer.fd, &remote, sizeof(remote));
	connect_qps(scene->qp, &remote);
	scene->source = remote.source;
	memcpy(scene->rkey, remote.rkey, sizeof(scene->rkey));
	scene->sink = (struct region){.length = sink_bytes, .fd = -1};
	scene->sink.bytes =
		mmap(NULL, sink_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(scene->sink.bytes != MAP_FAILED);
	memset(scene->sink.bytes, 1, sink_bytes);
	scene->sink.mr = softverbs_ibv_reg_mr(scene->side.pd, scene->sink.bytes, sink_bytes,
					      IBV_ACCESS_LOCAL_WRITE);
	CHECK(scene->sink.mr);
	for (unsigned int i = 0; i < SCENE_QPS * scene->regions; i++) { /* connects, and fetches the descriptors */
		struct ibv_qp *qp = scene->qp[i % SCENE_QPS];
		unsigned int region = i / SCENE_QPS;

		scene->sink.bytes[0] = 0;
		CHECK_EQUAL(post_read(qp, 0, &scene->sink, 1, scene->source + bytes / scene->regions * region,
				      scene->rkey[region]), 0);
		scene_await(qp->send_cq, 1);
		CHECK(scene->files || scene->sink.bytes[0] == 0x5a);
	}
}

void scene_close(struct scene *scene)
{
	test_finish_peer(&scene->peer);
	destroy_region(&scene->sink);
	for (unsigned int i = 0; i < scene->regions; i++)
		if (scene->file[i] >= 0)
			close(scene->file[i]);
	close_qps(&scene->side, scene->other_cq, scene->qp);
}

void scene_await(struct ibv_cq *cq, unsigned int count)
{
	struct ibv_wc wc[16];

	while (count) {
		int polled = ibv_poll_cq(cq, count < 16 ? count : 16, wc);

		CHECK(polled >= 0);
		for (int i = 0; i < polled; i++)
			CHECK_EQUAL(wc[i].status, IBV_WC_SUCCESS);
		count -= polled;
	}
}

static void check_path(const char *path)
{
	struct softverbs_counters counters = counters_now();
	bool any = !strcmp(path, "auto");

	CHECK(any || counters.reads_cma == 0 || !strcmp(path, "cma"));
	CHECK(any || counters.reads_file == 0 || !strcmp(path, "file"));
	CHECK(counters.reads_wire == 0 || !strcmp(path, "wire"));
}

void scene_on_path(const char *path, void (*body)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = test_fork();
	if (!pid) {
		setenv("SOFTVERBS_PATH", path, 1);
		body();
		check_path(path);
		exit(0);
	}
	test_join(pid);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of fault injection: SOFTVERBS_FAULT is read when the library is loaded, so each is this program once more. */
#ifndef SHUFFLE_RDMA_FAULT_FIXTURE_H
#define SHUFFLE_RDMA_FAULT_FIXTURE_H

#include "softdev_fixture.h"

struct fault_case {
	const char *fault;
	void (*body)(void);
	const char *path; /* SOFTVERBS_PATH, NULL = auto */
};

static inline void run_fault_case(const struct fault_case *fault_case, int number)
{
	char text[16];
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setenv("SOFTVERBS_FAULT", fault_case->fault, 1);
		if (fault_case->path)
			setenv("SOFTVERBS_PATH", fault_case->path, 1);
		snprintf(text, sizeof(text), "%d", number);
		execl("/proc/self/exe", "fault", text, (char *)NULL);
		_exit(127);
	}
	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (status) {
		fprintf(stderr, "with SOFTVERBS_FAULT=%s:\n", fault_case->fault);
		CHECK_EQUAL(status, 0);
	}
}

static inline int run_fault_cases(int argc, char **argv, const struct fault_case *cases, int count)
{
	alarm(TEST_SECONDS);
	if (argc == 2) {
		cases[atoi(argv[1])].body();
		return 0;
	}
	for (int i = 0; i < count; i++)
		run_fault_case(&cases[i], i);
	return 0;
}

#define RUN_FAULT_CASES(cases) run_fault_cases(argc, argv, cases, sizeof(cases) / sizeof((cases)[0]))

/* A connected pair with a region on each side. */
struct fault_scene {
	struct pair pair;
	struct region sink, source;
};

enum { SCENE_BYTES = 65536 };

static inline void open_scene(struct fault_scene *scene, const struct connection *how)
{
	open_pair(&scene->pair, how, how);
	scene->sink = create_region(scene->pair.a.pd, SCENE_BYTES, ALL_REMOTE);
	scene->source = create_region(scene->pair.b.pd, SCENE_BYTES, ALL_REMOTE);
	memset(scene->source.bytes, 0x55, SCENE_BYTES);
}

static inline void close_scene(struct fault_scene *scene)
{
	destroy_region(&scene->sink);
	destroy_region(&scene->source);
	close_pair(&scene->pair);
}

static inline int scene_post(struct fault_scene *scene, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t length)
{
	return post(scene->pair.a.qp, opcode, wr_id, sge_of(&scene->sink, 0, length),
		    (uintptr_t)scene->source.bytes, scene->source.mr->rkey);
}

static inline int scene_read(struct fault_scene *scene, uint64_t wr_id)
{
	return scene_post(scene, IBV_WR_RDMA_READ, wr_id, 64);
}

/* The connection works: a READ brings what is there. */
static inline void expect_good_read(struct fault_scene *scene, uint64_t wr_id)
{
	CHECK_EQUAL(scene_read(scene, wr_id), 0);
	expect_completion(scene->pair.a.cq, wr_id, IBV_WC_SUCCESS);
	CHECK_EQUAL(scene->sink.bytes[63], 0x55);
}

#endif

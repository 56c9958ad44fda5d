/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of READ share: a region in another process, queue pairs to it, and a sink. */
#ifndef SHUFFLE_RDMA_BENCH_SCENE_H
#define SHUFFLE_RDMA_BENCH_SCENE_H

#include "bench.h"
#include "softdev_fixture.h"

enum { SCENE_QPS = 3, SCENE_DEPTH = 128, SCENE_FILES = 64 };

struct scene {
	/* Optional. prepare: in both processes, first thing; `peer` is 0 in the peer. serve: in the peer, a thread. */
	void (*prepare)(int fd, pid_t peer);
	void (*serve)(const uint8_t *bytes, size_t length);
	struct test_peer peer;
	struct side side;
	struct ibv_cq *other_cq;
	/* All of one PD. 0 and 1 have each a completion queue of its own, 2 shares that of 0. */
	struct ibv_qp *qp[SCENE_QPS];
	struct region sink;
	size_t source_bytes;
	uint64_t source; /* its address in the peer */
	/* Set before scene_open(): the source consists of that many regions of the same size; 0 means 1. */
	unsigned int regions;
	/* Optional: a file for each region, which keeps its content. Without, they are made on the path "file". */
	char **files;
	uint32_t rkey[SCENE_FILES]; /* of each region */
	int file[SCENE_FILES];	    /* behind each region, -1 without one */
};

/* Both regions are resident before it returns. The path is SOFTVERBS_PATH's. */
void scene_open(struct scene *scene, size_t source_bytes, size_t sink_bytes);
void scene_close(struct scene *scene);
/* Runs body in a process of its own with this path forced, and fails if READs went another way than one that is forced. */
void scene_on_path(const char *path, void (*body)(void));
/* Polls until `count` completions are there; each must be a success. */
void scene_await(struct ibv_cq *cq, unsigned int count);

#endif

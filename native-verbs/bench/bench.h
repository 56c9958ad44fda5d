/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interleaved pairs: a raw system call and the device do the same work in turns, within one run of one process,
 * and what counts is the median over the pairs of the ratio of the two. Both are timed by the wall clock and by
 * the CPU seconds of all processes concerned.
 */
#ifndef SHUFFLE_RDMA_BENCH_H
#define SHUFFLE_RDMA_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What a case must reach; the figure is the median of the pairs. */
enum bench_aim {
	AIM_BANDWIDTH, /* raw time / device time  >= limit */
	AIM_COST,      /* device time / raw time  <= limit */
	AIM_LATENCY,   /* device time - raw time  <= limit, in us */
	AIM_CPU,       /* device CPU / raw CPU    <= limit */
	AIM_NONE,      /* device time / raw time, for information */
};

struct bench_case {
	const char *name;
	uint64_t bytes; /* of one operation */
	uint64_t step;	/* operations come in multiples of it */
	enum bench_aim aim;
	double limit; /* 0: for information */
	/* Each does so many operations and returns when they are done. */
	void (*raw)(void *scene, uint64_t operations);
	void (*device)(void *scene, uint64_t operations);
	pid_t other; /* a second process whose CPU counts, 0 = none */
};

/* Reads --pairs N, --run-ms N and --smoke; prints the head of the table. */
void bench_start(int argc, char **argv, const char *title);
/* True if only the working is to be shown: small regions, one short pair. */
bool bench_is_smoke(void);
/* Warms up, runs the pairs, prints a line. */
void bench_run(const struct bench_case *bench, void *scene);
/* Keeps a thread on the n-th of the CPUs that the process may use. From one thread only. */
void bench_pin(pthread_t thread, unsigned int n);
/* Runs run(first) in this thread and, unless `second` is NULL, run(second) in another one, each on a CPU of its own. */
void bench_run_both(void *(*run)(void *), void *first, void *second);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of a test (xorshift32, not for secrets): it prints its seed, and SOFTVERBS_TEST_SEED=N repeats the run. One
 * thread draws.
 */
#ifndef SHUFFLE_RDMA_TEST_RANDOM_H
#define SHUFFLE_RDMA_TEST_RANDOM_H

#include "test.h"

static uint32_t random_state;

static inline void random_start(void)
{
	const char *seed = getenv("SOFTVERBS_TEST_SEED");

	random_state = seed ? strtoul(seed, NULL, 10) : (uint32_t)getpid() * 2654435761u | 1;
	fprintf(stderr, "SOFTVERBS_TEST_SEED=%u\n", random_state);
}

/* 0 to below - 1. */
static inline uint32_t next_random(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

#endif

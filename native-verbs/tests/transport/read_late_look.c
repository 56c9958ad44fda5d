/* SPDX-License-Identifier: Apache-2.0 */
/* READs posted one by one by a program that waits for the bytes and only then polls: soon none of them is made to wait. */
#include "softdev_fixture.h"

#include <sched.h>

enum { READS = 4, ROUNDS = 201, BYTES = 64, TICK_US = 900 };

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000;
}

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static uint64_t read_round(struct pair *pair, struct region *sink, struct region *source, uint8_t mark)
{
	volatile uint8_t *last = sink->bytes + BYTES - 1;
	uint64_t begin, took;

	memset(source->bytes, mark, BYTES);
	begin = now_us();
	for (int i = 0; i < READS - 1; i++)
		CHECK_EQUAL(post_read(pair->a.qp, i, sink, 1, (uintptr_t)source->bytes, source->mr->rkey), 0);
	CHECK_EQUAL(post_read(pair->a.qp, READS - 1, sink, BYTES, (uintptr_t)source->bytes, source->mr->rkey), 0);
	while (*last != mark)
		sched_yield();
	took = now_us() - begin;
	for (int i = 0; i < READS; i++)
		expect_completion(pair->a.cq, i, IBV_WC_SUCCESS);
	return took;
}

int main(void)
{
	static uint64_t took[ROUNDS];
	struct region sink, source;
	struct pair pair;

	alarm(TEST_SECONDS);
	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	for (int round = 0; round < ROUNDS; round++)
		took[round] = read_round(&pair, &sink, &source, 1 + round % 255);
	qsort(took, ROUNDS, sizeof(*took), compare);
	CHECK(took[ROUNDS / 2] < TICK_US);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

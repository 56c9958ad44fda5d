/* SPDX-License-Identifier: Apache-2.0 */
/* READs posted one by one by a program that waits for the bytes and only then polls: soon none of them is made to wait. */
#include "softdev_fixture.h"

#include <sched.h>

enum { READS = 4, ROUNDS = 201, BYTES = 64, TICK_US = 900 };

static int compare(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static uint64_t read_round(struct pair *pair, uint8_t mark)
{
	volatile uint8_t *last = pair->local->bytes + BYTES - 1;
	uint64_t begin, took;

	memset(pair->remote->bytes, mark, BYTES);
	*last = 0;
	begin = test_now_us();
	for (int i = 0; i < READS; i++)
		pair_post(pair, IBV_WR_RDMA_READ, i, i < READS - 1 ? 1 : BYTES);
	while (*last != mark)
		sched_yield();
	took = test_now_us() - begin;
	expect_completions(pair->a.cq, 0, READS - 1, IBV_WC_SUCCESS);
	return took;
}

int main(void)
{
	static uint64_t took[ROUNDS];
	struct pair pair;

	alarm(TEST_SECONDS);
	open_pair_as(&pair, &(struct pair_setup){.bytes = 4096});
	for (int round = 0; round < ROUNDS; round++)
		took[round] = read_round(&pair, 1 + round % 255);
	qsort(took, ROUNDS, sizeof(*took), compare);
	CHECK(took[ROUNDS / 2] < TICK_US);
	close_pair(&pair);
}

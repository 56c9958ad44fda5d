/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that spins on an empty queue yields the processor within ibv_poll_cq: what comes meanwhile is returned by
 * that call. It would read its events next, and might close what has been disconnected, with completions unread.
 */
#define _GNU_SOURCE
#include "softdev_fixture.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>

enum { MANY_LOOKS = 100000 };

static struct pair pair;
static atomic_bool armed;
static bool has_yielded;

/* The library's calls come here: a message arrives while the processor is given away. */
__attribute__((visibility("default"))) int sched_yield(void)
{
	if (atomic_exchange(&armed, false)) {
		has_yielded = true;
		pair_post(&pair, IBV_WR_SEND, 1, 8);
		CHECK(test_readable(pair.b.channel->fd, WAIT_MS));
	}
	return (int)syscall(SYS_sched_yield);
}

int main(void)
{
	struct ibv_wc wc;
	int found = 0;

	alarm(TEST_SECONDS);
	open_pair_as(&pair, &(struct pair_setup){0});
	pair_receive(&pair, 7, 8);
	CHECK_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
	atomic_store(&armed, true);
	for (int i = 0; i < MANY_LOOKS && !has_yielded; i++)
		found = ibv_poll_cq(pair.b.cq, 1, &wc);
	CHECK(has_yielded);
	CHECK_EQUAL(found, 1);
	CHECK_EQUAL(wc.wr_id, 7);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	close_pair(&pair);
}

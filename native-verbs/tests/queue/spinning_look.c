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
static struct region sink, source;
static atomic_bool armed;
static bool has_yielded;

/* The library's calls come here: a message arrives while the processor is given away. */
__attribute__((visibility("default"))) int sched_yield(void)
{
	if (atomic_exchange(&armed, false)) {
		has_yielded = true;
		CHECK_EQUAL(post(pair.a.qp, IBV_WR_SEND, 1, sge_of(&source, 0, 8), 0, 0), 0);
		CHECK(test_readable(pair.b.channel->fd, WAIT_MS));
	}
	return (int)syscall(SYS_sched_yield);
}

int main(void)
{
	struct ibv_wc wc;
	int found = 0;

	alarm(TEST_SECONDS);
	open_pair(&pair, NULL, NULL);
	source = create_region(pair.a.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	sink = create_region(pair.b.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQUAL(post_receive(pair.b.qp, 7, sge_of(&sink, 0, 8)), 0);
	CHECK_EQUAL(ibv_req_notify_cq(pair.b.cq, 0), 0);
	atomic_store(&armed, true);
	for (int i = 0; i < MANY_LOOKS && !has_yielded; i++)
		found = ibv_poll_cq(pair.b.cq, 1, &wc);
	CHECK(has_yielded);
	CHECK_EQUAL(found, 1);
	CHECK_EQUAL(wc.wr_id, 7);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

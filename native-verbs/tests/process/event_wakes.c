/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burst of completion events while a thread waits leaves no wakes behind: the first look that finds no event throws them away,
 * where the next wait would have returned once for each.
 */
#include "queue/cq.h"
#include "softdev_fixture.h"

#include <fcntl.h>

enum { EVENTS = 20 };

static int wakes(struct event_queue *queue)
{
	int count;

	CHECK(!sem_getvalue(&queue->wake, &count));
	return count;
}

static void set_waiters(struct event_queue *queue, int change)
{
	pthread_mutex_lock(&queue->lock);
	queue->waiters += change;
	pthread_mutex_unlock(&queue->lock);
}

int main(void)
{
	struct event_queue *queue;
	struct pair pair;
	struct ibv_cq *cq;
	void *context;

	alarm(TEST_SECONDS);
	open_pair_as(&pair, &(struct pair_setup){0});
	queue = &to_channel(pair.a.channel)->queue;
	CHECK(!fcntl(pair.a.channel->fd, F_SETFL, O_NONBLOCK));
	set_waiters(queue, 1); /* as if a thread slept that does not get the processor */
	for (int i = 0; i < EVENTS; i++) {
		CHECK_EQUAL(ibv_req_notify_cq(pair.a.cq, 0), 0);
		pair_run(&pair, IBV_WR_RDMA_READ, i, 64, IBV_WC_SUCCESS);
	}
	set_waiters(queue, -1);
	CHECK(wakes(queue) > 1);
	for (int i = 0; i < EVENTS; i++)
		CHECK_EQUAL(softverbs_ibv_get_cq_event(pair.a.channel, &cq, &context), 0);
	softverbs_ibv_ack_cq_events(pair.a.cq, EVENTS);
	CHECK_FAILS(softverbs_ibv_get_cq_event(pair.a.channel, &cq, &context), EAGAIN);
	CHECK_EQUAL(wakes(queue), 0);
	close_pair(&pair);
	return 0;
}

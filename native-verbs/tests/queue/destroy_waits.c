/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Destruction: a queue waits for the events that were delivered and not acknowledged, takes back the others, and what others
 * use stays (EBUSY). A device that is closed first leaves its objects usable.
 */
#include "softdev_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

struct destruction {
	int (*destroy)(struct destruction *);
	struct side *side;
	int result;
	atomic_bool ended;
};

static int destroy_cq_of(struct destruction *destruction)
{
	return softverbs_ibv_destroy_cq(destruction->side->cq);
}

static int destroy_qp_of(struct destruction *destruction)
{
	return softverbs_ibv_destroy_qp(destruction->side->qp);
}

static void *run(void *argument)
{
	struct destruction *destruction = argument;

	destruction->result = destruction->destroy(destruction);
	atomic_store(&destruction->ended, true);
	return NULL;
}

static pthread_t start(struct destruction *destruction)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_create(&thread, NULL, run, destruction), 0);
	test_sleep_ms(100);
	CHECK(!atomic_load(&destruction->ended));
	return thread;
}

static void join(pthread_t thread, struct destruction *destruction)
{
	AWAIT(atomic_load(&destruction->ended));
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	CHECK_EQUAL(destruction->result, 0);
}

/* One completion event that is not yet read. */
static void raise_completion_event(struct side *side)
{
	to_init(side->qp, 0);
	CHECK_EQUAL(ibv_req_notify_cq(side->cq, 0), 0);
	move_qp(side->qp, IBV_QPS_ERR);
	CHECK_EQUAL(ibv_post_recv(side->qp, &(struct ibv_recv_wr){.wr_id = 1}, &(struct ibv_recv_wr *){NULL}), 0);
	CHECK(test_readable(side->channel->fd, WAIT_MS));
}

CASE(completionQueueWaitsForAcknowledgement)
{
	struct side side;
	struct destruction destruction = {.destroy = destroy_cq_of, .side = &side};
	struct ibv_cq *cq;
	pthread_t thread;
	void *context;

	open_side(&side, 8, 8);
	raise_completion_event(&side);
	CHECK_EQUAL(softverbs_ibv_get_cq_event(side.channel, &cq, &context), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side.cq), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(side.channel), EBUSY);
	thread = start(&destruction);
	softverbs_ibv_ack_cq_events(cq, 1);
	join(thread, &destruction);
	side.cq = softverbs_ibv_create_cq(side.context, 8, NULL, side.channel, 0);
	side.qp = create_qp(&side, 8);
	close_side(&side);
}

CASE(undeliveredEventsAreTakenBack)
{
	struct side side;

	open_side(&side, 8, 8);
	raise_completion_event(&side);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side.cq), 0);
	CHECK(!test_readable(side.channel->fd, 0));
	side.cq = softverbs_ibv_create_cq(side.context, 8, NULL, side.channel, 0);
	side.qp = create_qp(&side, 8);
	close_side(&side);
}

CASE(queuePairWaitsForAcknowledgementOfItsEvent)
{
	struct ibv_qp_attr drain = {.qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1};
	struct ibv_async_event event;
	struct destruction destruction;
	struct pair pair;
	pthread_t thread;

	open_pair(&pair, NULL, NULL);
	destruction = (struct destruction){.destroy = destroy_qp_of, .side = &pair.a};
	CHECK_EQUAL(softverbs_ibv_modify_qp(pair.a.qp, &drain, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	CHECK(test_readable(pair.a.context->async_fd, WAIT_MS));
	CHECK_EQUAL(softverbs_ibv_get_async_event(pair.a.context, &event), 0);
	CHECK_EQUAL(event.event_type, IBV_EVENT_SQ_DRAINED);
	thread = start(&destruction);
	softverbs_ibv_ack_async_event(&event);
	join(thread, &destruction);
	pair.a.qp = create_qp(&pair.a, 8);
	close_pair(&pair);
}

CASE(whatIsInUseStays)
{
	struct region region;
	struct side side;

	open_side(&side, 8, 8);
	region = create_region(side.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side.pd), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side.cq), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(side.channel), EBUSY);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side.pd), EBUSY); /* the region */
	destroy_region(&region);
	side.qp = create_qp(&side, 8);
	close_side(&side);
	check_no_leaks();
}

CASE(objectsOutliveTheirDevice)
{
	struct side side;

	open_side(&side, 8, 8);
	CHECK_EQUAL(softverbs_ibv_close_device(side.context), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(side.cq), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_comp_channel(side.channel), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(side.pd), 0);
}

int main(void)
{
	run_cases();
}

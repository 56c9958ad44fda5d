/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: notification, solicited events, overrun, and slots that come back only by polling. */
#include "softdev_fixture.h"

#include <fcntl.h>

static void post_with(struct pair *pair, enum ibv_wr_opcode opcode, uint64_t wr_id, unsigned int flags, int expected)
{
	struct ibv_sge sge = sge_of(pair->local, 0, 8);
	struct ibv_send_wr *bad = NULL, wr = {
						.wr_id = wr_id,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = opcode,
						.send_flags = flags,
						.wr.rdma = {(uintptr_t)pair->remote->bytes, pair->remote->mr->rkey},
					};

	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), expected);
	CHECK(!expected || bad == &wr);
}

static void eventComesOncePerRequest(struct pair *pair)
{
	struct side *a = &pair->a;
	struct ibv_cq *cq;
	void *context;

	a->cq->handle ^= 0x5000;
	CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), ENOENT);
	a->cq->handle ^= 0x5000;
	CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), 0);
	CHECK(!test_readable(a->channel->fd, 0));
	pair_post(pair, IBV_WR_RDMA_READ, 1, 8);
	pair_post(pair, IBV_WR_RDMA_READ, 2, 8);
	CHECK(test_readable(a->channel->fd, WAIT_MS));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(a->channel, &cq, &context), 0);
	CHECK(cq == a->cq && context == a);
	expect_completions(a->cq, 1, 2, IBV_WC_SUCCESS);
	CHECK(!test_readable(a->channel->fd, 0));
	CHECK(!fcntl(a->channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_FAILS(softverbs_ibv_get_cq_event(a->channel, &cq, &context), EAGAIN);
	softverbs_ibv_ack_cq_events(a->cq, 1);
}

static void solicitedOnlyWaitsForASolicitedMessage(struct pair *pair)
{
	CHECK_EQUAL(ibv_req_notify_cq(pair->b.cq, 1), 0);
	for (int i = 0; i < 2; i++)
		pair_receive(pair, i, 8);
	post_with(pair, IBV_WR_SEND, 1, 0, 0);
	expect_completion(pair->b.cq, 0, IBV_WC_SUCCESS);
	CHECK(!test_readable(pair->b.channel->fd, 0));
	post_with(pair, IBV_WR_SEND, 2, IBV_SEND_SOLICITED | IBV_SEND_SIGNALED, 0);
	expect_completion(pair->b.cq, 1, IBV_WC_SUCCESS);
	take_cq_event(pair->b.channel);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
}

/* InfiniBand specification, 11.4.2.2: the event is for the next completion that is added, not for those that are there. */
static void whatWasThereRaisesNoEvent(struct pair *pair)
{
	for (int i = 0; i < 2; i++)
		pair_receive(pair, i, 8);
	pair_run(pair, IBV_WR_SEND, 1, 8, IBV_WC_SUCCESS); /* so the receive is complete as well */
	CHECK_EQUAL(ibv_req_notify_cq(pair->b.cq, 0), 0);
	CHECK(!test_readable(pair->b.channel->fd, 50));
	pair_run(pair, IBV_WR_SEND, 2, 8, IBV_WC_SUCCESS);
	take_cq_event(pair->b.channel);
	expect_completions(pair->b.cq, 0, 1, IBV_WC_SUCCESS);
}

/* 64 slots: unsignalled ones come back with the next completion that is polled, not before. */
static void slotsComeBackByPolling(struct pair *pair)
{
	CHECK_EQUAL(ibv_req_notify_cq(pair->a.cq, 0), 0);
	for (int i = 0; i < 64; i++)
		post_with(pair, IBV_WR_RDMA_READ, i, i == 63 ? IBV_SEND_SIGNALED : 0, 0);
	take_cq_event(pair->a.channel);
	post_with(pair, IBV_WR_RDMA_READ, 64, IBV_SEND_SIGNALED, ENOMEM);
	expect_completion(pair->a.cq, 63, IBV_WC_SUCCESS);
	for (int i = 0; i < 64; i++)
		post_with(pair, IBV_WR_RDMA_READ, i, i == 63 ? IBV_SEND_SIGNALED : 0, 0);
	expect_completion(pair->a.cq, 63, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
}

static void partOfAListIsPosted(struct pair *pair)
{
	struct ibv_sge good = sge_of(pair->local, 0, 8);
	struct ibv_send_wr list[3], *bad = NULL;

	for (int i = 0; i < 3; i++)
		chain_read(list, i, 3, &good, (uintptr_t)pair->remote->bytes, pair->remote->mr->rkey);
	list[0].send_flags = list[2].send_flags = 0;
	list[2].num_sge = 5; /* the QP has 4 */
	CHECK_EQUAL(ibv_post_send(pair->a.qp, list, &bad), EINVAL);
	CHECK(bad == &list[2]);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
}

static void resizeKeepsCompletions(struct pair *pair)
{
	for (int i = 1; i <= 2; i++) {
		CHECK_EQUAL(ibv_req_notify_cq(pair->a.cq, 0), 0);
		pair_post(pair, IBV_WR_RDMA_READ, i, 8);
		take_cq_event(pair->a.channel);
	}
	CHECK_EQUAL(softverbs_ibv_resize_cq(pair->a.cq, 1), EINVAL);
	CHECK_EQUAL(softverbs_ibv_resize_cq(pair->a.cq, 2), 0);
	expect_completions(pair->a.cq, 1, 2, IBV_WC_SUCCESS);
}

/* Now 2 entries: the third completion does not fit. */
static void overrunFailsTheQueueAndItsPairs(struct pair *pair)
{
	for (int i = 0; i < 3; i++)
		pair_post(pair, IBV_WR_RDMA_READ, i, 8);
	expect_async(&pair->a, IBV_EVENT_CQ_ERR);
	expect_async(&pair->a, IBV_EVENT_QP_FATAL);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

static void argumentsAreChecked(struct side *side)
{
	CHECK_REFUSED(softverbs_ibv_create_cq(side->context, 0, NULL, NULL, 0), EINVAL);
	CHECK_REFUSED(softverbs_ibv_create_cq(side->context, 1 << 20, NULL, NULL, 0), EINVAL);
	CHECK_REFUSED(softverbs_ibv_create_cq(side->context, 1, NULL, NULL, side->context->num_comp_vectors), EINVAL);
}

static void body(void)
{
	struct pair pair;

	open_pair_as(&pair, &(struct pair_setup){0});
	argumentsAreChecked(&pair.a);
	eventComesOncePerRequest(&pair);
	solicitedOnlyWaitsForASolicitedMessage(&pair);
	whatWasThereRaisesNoEvent(&pair);
	slotsComeBackByPolling(&pair);
	partOfAListIsPosted(&pair);
	resizeKeepsCompletions(&pair);
	overrunFailsTheQueueAndItsPairs(&pair);
	close_pair(&pair);
}

MAIN(on_each_path, body)

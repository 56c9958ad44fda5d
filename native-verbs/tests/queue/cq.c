/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: notification, solicited events, overrun, and slots that come back only by polling. */
#include "softdev_fixture.h"

#include <fcntl.h>

static void read_own(struct pair *pair, struct region *sink, struct region *source, uint64_t wr_id,
		     unsigned int flags, int expected)
{
	struct ibv_sge sge = sge_of(sink, 0, 8);
	struct ibv_send_wr *bad = NULL, wr = {
						.wr_id = wr_id,
						.sg_list = &sge,
						.num_sge = 1,
						.opcode = IBV_WR_RDMA_READ,
						.send_flags = flags,
						.wr.rdma = {(uintptr_t)source->bytes, source->mr->rkey},
					};

	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), expected);
	CHECK(!expected || bad == &wr);
}

static void eventComesOncePerRequest(struct pair *pair, struct region *sink, struct region *source)
{
	struct side *a = &pair->a;
	struct ibv_cq *cq;
	void *context;

	a->cq->handle ^= 0x5000;
	CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), ENOENT);
	a->cq->handle ^= 0x5000;
	CHECK_EQUAL(ibv_req_notify_cq(a->cq, 0), 0);
	CHECK(!test_readable(a->channel->fd, 0));
	read_own(pair, sink, source, 1, IBV_SEND_SIGNALED, 0);
	read_own(pair, sink, source, 2, IBV_SEND_SIGNALED, 0);
	CHECK(test_readable(a->channel->fd, WAIT_MS));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(a->channel, &cq, &context), 0);
	CHECK(cq == a->cq && context == a);
	expect_completion(a->cq, 1, IBV_WC_SUCCESS);
	expect_completion(a->cq, 2, IBV_WC_SUCCESS);
	CHECK(!test_readable(a->channel->fd, 0));
	CHECK(!fcntl(a->channel->fd, F_SETFL, O_NONBLOCK));
	CHECK_EQUAL(softverbs_ibv_get_cq_event(a->channel, &cq, &context), -1);
	CHECK_EQUAL(errno, EAGAIN);
	softverbs_ibv_ack_cq_events(a->cq, 1);
}

static void solicitedOnlyWaitsForASolicitedMessage(struct pair *pair, struct region *sink,
						   struct region *source)
{
	struct ibv_sge sge = sge_of(sink, 0, 1);
	struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_cq *cq;
	void *context;

	CHECK_EQUAL(ibv_req_notify_cq(pair->b.cq, 1), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(post_receive(pair->b.qp, i, sge_of(source, 0, 8)), 0);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
	expect_completion(pair->b.cq, 0, IBV_WC_SUCCESS);
	CHECK(!test_readable(pair->b.channel->fd, 0));
	wr.send_flags = IBV_SEND_SOLICITED | IBV_SEND_SIGNALED;
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
	expect_completion(pair->b.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_get_cq_event(pair->b.channel, &cq, &context), 0);
	softverbs_ibv_ack_cq_events(cq, 1);
	expect_completion(pair->a.cq, 0, IBV_WC_SUCCESS);
}

/* InfiniBand specification, 11.4.2.2: the event is for the next completion that is added, not for those that are there. */
static void whatWasThereRaisesNoEvent(struct pair *pair, struct region *sink, struct region *source)
{
	struct ibv_sge sge = sge_of(sink, 0, 1);
	struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < 2; i++)
		CHECK_EQUAL(post_receive(pair->b.qp, i, sge_of(source, 0, 8)), 0);
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
	expect_completion(pair->a.cq, 0, IBV_WC_SUCCESS); /* so the receive is complete as well */
	CHECK_EQUAL(ibv_req_notify_cq(pair->b.cq, 0), 0);
	CHECK(!test_readable(pair->b.channel->fd, 50));
	CHECK_EQUAL(ibv_post_send(pair->a.qp, &wr, &bad), 0);
	expect_completion(pair->a.cq, 0, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_get_cq_event(pair->b.channel, &cq, &context), 0);
	softverbs_ibv_ack_cq_events(cq, 1);
	for (int i = 0; i < 2; i++)
		expect_completion(pair->b.cq, i, IBV_WC_SUCCESS);
}

/* 64 slots: unsignalled ones come back with the next completion that is polled, not before. */
static void slotsComeBackByPolling(struct pair *pair, struct region *sink, struct region *source)
{
	for (int i = 0; i < 63; i++)
		read_own(pair, sink, source, i, 0, 0);
	read_own(pair, sink, source, 63, IBV_SEND_SIGNALED, 0);
	test_sleep_ms(50);
	read_own(pair, sink, source, 64, IBV_SEND_SIGNALED, ENOMEM);
	expect_completion(pair->a.cq, 63, IBV_WC_SUCCESS);
	for (int i = 0; i < 64; i++)
		read_own(pair, sink, source, i, i == 63 ? IBV_SEND_SIGNALED : 0, 0);
	expect_completion(pair->a.cq, 63, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
}

static void partOfAListIsPosted(struct pair *pair, struct region *sink, struct region *source)
{
	struct ibv_sge good = sge_of(sink, 0, 8);
	struct ibv_send_wr list[3], *bad = NULL;

	for (int i = 0; i < 3; i++)
		list[i] = (struct ibv_send_wr){
			.wr_id = i,
			.next = i < 2 ? &list[i + 1] : NULL,
			.sg_list = &good,
			.num_sge = i == 2 ? 5 : 1, /* the QP has 4 */
			.opcode = IBV_WR_RDMA_READ,
			.send_flags = i == 1 ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = {(uintptr_t)source->bytes, source->mr->rkey},
		};
	CHECK_EQUAL(ibv_post_send(pair->a.qp, list, &bad), EINVAL);
	CHECK(bad == &list[2]);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	expect_no_completion(pair->a.cq);
}

static void resizeKeepsCompletions(struct pair *pair, struct region *sink, struct region *source)
{
	read_own(pair, sink, source, 1, IBV_SEND_SIGNALED, 0);
	read_own(pair, sink, source, 2, IBV_SEND_SIGNALED, 0);
	test_sleep_ms(20);
	CHECK_EQUAL(softverbs_ibv_resize_cq(pair->a.cq, 1), EINVAL);
	CHECK_EQUAL(softverbs_ibv_resize_cq(pair->a.cq, 2), 0);
	expect_completion(pair->a.cq, 1, IBV_WC_SUCCESS);
	expect_completion(pair->a.cq, 2, IBV_WC_SUCCESS);
}

/* Now 2 entries: the third completion does not fit. */
static void overrunFailsTheQueueAndItsPairs(struct pair *pair, struct region *sink, struct region *source)
{
	for (int i = 0; i < 3; i++)
		read_own(pair, sink, source, i, IBV_SEND_SIGNALED, 0);
	expect_async(&pair->a, IBV_EVENT_CQ_ERR);
	expect_async(&pair->a, IBV_EVENT_QP_FATAL);
	expect_state(pair->a.qp, IBV_QPS_ERR);
}

static void argumentsAreChecked(struct side *side)
{
	CHECK(!softverbs_ibv_create_cq(side->context, 0, NULL, NULL, 0));
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!softverbs_ibv_create_cq(side->context, 1 << 20, NULL, NULL, 0));
	CHECK_EQUAL(errno, EINVAL);
	CHECK(!softverbs_ibv_create_cq(side->context, 1, NULL, NULL, side->context->num_comp_vectors));
	CHECK_EQUAL(errno, EINVAL);
}

static void body(void)
{
	struct pair pair;
	struct region sink, source;

	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, ALL_REMOTE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	argumentsAreChecked(&pair.a);
	eventComesOncePerRequest(&pair, &sink, &source);
	solicitedOnlyWaitsForASolicitedMessage(&pair, &sink, &source);
	whatWasThereRaisesNoEvent(&pair, &sink, &source);
	slotsComeBackByPolling(&pair, &sink, &source);
	partOfAListIsPosted(&pair, &sink, &source);
	resizeKeepsCompletions(&pair, &sink, &source);
	overrunFailsTheQueueAndItsPairs(&pair, &sink, &source);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

int main(void)
{
	on_each_path(body);
}

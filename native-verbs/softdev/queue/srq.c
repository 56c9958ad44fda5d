/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/rq.h"

#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "process/counters.h"
#include "process/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Receives that were allocated at a time, followed by their lists. They are freed with the queue. */
struct srq_block {
	struct srq_block *next;
	struct rqe receives[];
};

/* Returns false if memory is short. Called with srq->lock held or before the queue is published. */
static bool allocate_up_to(struct softdev_srq *srq, uint32_t count)
{
	uint32_t added = count > srq->allocated ? count - srq->allocated : 0;
	struct srq_block *block;
	struct ibv_sge *lists;

	if (!added)
		return true;
	block = calloc(1, sizeof(*block) + added * (sizeof(struct rqe) + srq->max_sge * sizeof(struct ibv_sge)));
	if (!block)
		return false;
	block->next = srq->blocks;
	srq->blocks = block;
	lists = (struct ibv_sge *)(block->receives + added);
	for (uint32_t i = 0; i < added; i++) {
		block->receives[i] = (struct rqe){
			.srq = srq, .sge = lists + (size_t)i * srq->max_sge, .next = srq->unused};
		srq->unused = &block->receives[i];
	}
	srq->allocated = count;
	return true;
}

static void free_srq(struct softdev_srq *srq)
{
	while (srq->blocks) {
		struct srq_block *block = srq->blocks;

		srq->blocks = block->next;
		free(block);
	}
	free(srq);
}

static struct softdev_srq *new_srq(struct ibv_pd *pd, const struct ibv_srq_init_attr *init)
{
	struct softdev_srq *srq = calloc(1, sizeof(*srq));

	if (!srq)
		return NULL;
	srq->base.context = pd->context;
	srq->base.srq_context = init->srq_context;
	srq->base.pd = pd;
	srq->pd = to_pd(pd);
	srq->max_wr = init->attr.max_wr;
	srq->max_sge = init->attr.max_sge ? init->attr.max_sge : 1;
	srq->last = &srq->first;
	srq->limit_reached.event = (struct ibv_async_event){.element.srq = &srq->base,
							    .event_type = IBV_EVENT_SRQ_LIMIT_REACHED};
	srq->error.event = (struct ibv_async_event){.element.srq = &srq->base, .event_type = IBV_EVENT_SRQ_ERR};
	if (allocate_up_to(srq, srq->max_wr))
		return srq;
	free_srq(srq);
	return NULL;
}

static int check_creation(struct ibv_pd *pd, const struct ibv_srq_init_attr *init)
{
	if (is_inherited(pd->context))
		return EIO;
	if (!handle_is(HANDLE_PD, pd->handle, to_pd(pd)) || !init->attr.max_wr ||
	    init->attr.max_wr > DEVICE_MAX_SRQ_WR || init->attr.max_sge > DEVICE_MAX_SGE)
		return EINVAL;
	return fault_call(FAULT_CREATE_SRQ);
}

struct ibv_srq *softverbs_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct softdev_srq *srq;
	int64_t handle;
	int error = check_creation(pd, init);

	if (error)
		return null_with(error);
	srq = new_srq(pd, init);
	if (!srq)
		return null_with(ENOMEM);
	handle = handle_add(HANDLE_SRQ, srq);
	if (handle < 0) {
		free_srq(srq);
		return null_with(-handle);
	}
	srq->base.handle = handle;
	atomic_fetch_add(&srq->pd->users, 1);
	init->attr.max_wr = srq->max_wr;
	init->attr.max_sge = srq->max_sge;
	COUNT(srq_live);
	return &srq->base;
}

/* Called with srq->lock held. */
static void tell_limit(struct softdev_srq *srq)
{
	if (!srq->limit || srq->posted >= srq->limit)
		return;
	srq->limit = 0;
	srq->async_raised++;
	async_raise(srq->base.context, &srq->limit_reached);
}

/* Called with srq->lock held. 0 or a positive errno. */
static int modify(struct softdev_srq *srq, const struct ibv_srq_attr *attr, int mask)
{
	uint32_t max_wr = mask & IBV_SRQ_MAX_WR ? attr->max_wr : srq->max_wr;

	if (max_wr > DEVICE_MAX_SRQ_WR || max_wr < srq->used || !max_wr)
		return EINVAL;
	if ((mask & IBV_SRQ_LIMIT) && attr->srq_limit > max_wr)
		return EINVAL;
	if (!allocate_up_to(srq, max_wr))
		return ENOMEM;
	srq->max_wr = max_wr;
	if (mask & IBV_SRQ_LIMIT) {
		srq->limit = attr->srq_limit;
		tell_limit(srq);
	}
	return 0;
}

int softverbs_ibv_modify_srq(struct ibv_srq *base, struct ibv_srq_attr *attr, int mask)
{
	struct softdev_srq *srq = to_srq(base);

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	HOLD_LOCK(&srq->lock);
	return modify(srq, attr, mask);
}

int softverbs_ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct softdev_srq *srq = to_srq(base);

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
	HOLD_LOCK(&srq->lock);
	*attr = (struct ibv_srq_attr){srq->max_wr, srq->max_sge, srq->limit};
	return 0;
}

static void wait_for_acks(struct softdev_srq *srq)
{
	srq->async_raised -= async_withdraw(srq->base.context, &srq->limit_reached);
	srq->async_raised -= async_withdraw(srq->base.context, &srq->error);
	async_await_acks(&srq->base.mutex, &srq->base.cond, &srq->base.events_completed, srq->async_raised);
}

int softverbs_ibv_destroy_srq(struct ibv_srq *base)
{
	struct softdev_srq *srq = to_srq(base);
	int error = is_inherited(base->context) ? EIO : handle_remove(HANDLE_SRQ, base->handle, srq, &srq->users);

	if (error)
		return error;
	wait_for_acks(srq);
	atomic_fetch_sub(&srq->pd->users, 1);
	COUNT_DOWN(srq_live);
	free_srq(srq);
	return 0;
}

bool srq_raise_type(struct softdev_srq *srq, enum ibv_event_type type)
{
	struct async_source *source = type == IBV_EVENT_SRQ_ERR ? &srq->error : &srq->limit_reached;

	if (source->event.event_type != type)
		return false;
	HOLD_LOCK(&srq->lock);
	srq->async_raised++;
	async_raise(srq->base.context, source);
	return true;
}

struct rqe *srq_take(struct softdev_srq *srq)
{
	HOLD_LOCK(&srq->lock);
	struct rqe *rqe = srq->first;

	if (!rqe)
		return NULL;
	srq->first = rqe->next;
	if (!srq->first)
		srq->last = &srq->first;
	srq->posted--;
	tell_limit(srq);
	return rqe;
}

void srq_put_back(struct rqe *rqe)
{
	struct softdev_srq *srq = rqe->srq;

	HOLD_LOCK(&srq->lock);
	rqe->next = srq->first;
	srq->first = rqe;
	if (!rqe->next)
		srq->last = &rqe->next;
	srq->posted++;
}

void srq_release(struct rqe *rqe)
{
	struct softdev_srq *srq = rqe->srq;

	HOLD_LOCK(&srq->lock);
	rqe->next = srq->unused;
	srq->unused = rqe;
	srq->used--;
}

/* Called with srq->lock held. 0 or a positive errno. */
static int post_one(struct softdev_srq *srq, const struct ibv_recv_wr *wr)
{
	const struct fault *fault = fault_check(FAULT_POST_SRQ_RECV);
	struct rqe *rqe = srq->unused;

	if (fault)
		return fault->error;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > srq->max_sge || (wr->num_sge && !wr->sg_list))
		return EINVAL;
	if (srq->used >= srq->max_wr)
		return ENOMEM;
	srq->unused = rqe->next;
	srq->used++;
	rq_fill(rqe, wr);
	rqe->next = NULL;
	*srq->last = rqe;
	srq->last = &rqe->next;
	srq->posted++;
	return 0;
}

static int post_srq_recv(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct softdev_srq *srq = to_srq(base);
	int error = 0;

	if (is_inherited(base->context)) {
		*bad_wr = wr;
		return EIO;
	}
	HOLD_LOCK(&srq->lock);
	for (; wr; wr = wr->next) {
		error = post_one(srq, wr);
		if (error) {
			*bad_wr = wr;
			break;
		}
	}
	return error;
}

void srq_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.post_srq_recv = post_srq_recv;
}

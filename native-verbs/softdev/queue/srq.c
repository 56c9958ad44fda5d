/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/rq.h"

#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "process/counters.h"
#include "process/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Returns false if memory is short, after allocating fewer. Called with srq->lock held or before the queue is
 * published.
 */
static bool allocate_up_to(struct softdev_srq *srq, uint32_t count)
{
	while (srq->allocated < count) {
		struct rqe *rqe = calloc(1, sizeof(*rqe) + srq->max_sge * sizeof(struct ibv_sge));

		if (!rqe)
			return false;
		rqe->srq = srq;
		rqe->sge = (struct ibv_sge *)(rqe + 1);
		rqe->next = srq->unused;
		srq->unused = rqe;
		rqe->made_next = srq->made;
		rqe->made_place = &srq->made;
		if (srq->made)
			srq->made->made_place = &rqe->made_next;
		srq->made = rqe;
		srq->allocated++;
	}
	return true;
}

/* Called with srq->lock held. */
static void free_down_to(struct softdev_srq *srq, uint32_t count)
{
	while (srq->allocated > count && srq->unused) {
		struct rqe *rqe = srq->unused;

		srq->unused = rqe->next;
		srq->allocated--;
		*rqe->made_place = rqe->made_next;
		if (rqe->made_next)
			rqe->made_next->made_place = rqe->made_place;
		free(rqe);
	}
}

static void free_srq(struct softdev_srq *srq)
{
	while (srq->made) {
		struct rqe *rqe = srq->made;

		srq->made = rqe->made_next;
		free(rqe);
	}
	pthread_mutex_destroy(&srq->lock);
	pthread_mutex_destroy(&srq->base.mutex);
	pthread_cond_destroy(&srq->base.cond);
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
	pthread_mutex_init(&srq->lock, NULL);
	pthread_mutex_init(&srq->base.mutex, NULL);
	pthread_cond_init(&srq->base.cond, NULL);
	if (allocate_up_to(srq, srq->max_wr))
		return srq;
	free_srq(srq);
	return NULL;
}

struct ibv_srq *softverbs_ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct softdev_srq *srq;
	int64_t handle;
	int error = ENOMEM;

	if (is_inherited(pd->context))
		error = EIO;
	else if (!handle_is(HANDLE_PD, pd->handle, to_pd(pd)) || !init->attr.max_wr ||
		 init->attr.max_wr > DEVICE_MAX_SRQ_WR || init->attr.max_sge > DEVICE_MAX_SGE)
		error = EINVAL;
	if (error != ENOMEM)
		goto failed;
	error = fault_call(FAULT_CREATE_SRQ);
	if (error)
		goto failed;
	error = ENOMEM;
	srq = new_srq(pd, init);
	if (!srq)
		goto failed;
	handle = handle_add(HANDLE_SRQ, srq);
	if (handle < 0)
		goto free_it;
	srq->base.handle = handle;
	atomic_fetch_add(&srq->pd->users, 1);
	init->attr.max_wr = srq->max_wr;
	init->attr.max_sge = srq->max_sge;
	COUNT(srq_live);
	return &srq->base;

free_it:
	free_srq(srq);
failed:
	errno = error;
	return NULL;
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
	if (!allocate_up_to(srq, max_wr)) {
		free_down_to(srq, srq->max_wr);
		return ENOMEM;
	}
	free_down_to(srq, max_wr);
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
	int error;

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
	if (mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return EINVAL;
	pthread_mutex_lock(&srq->lock);
	error = modify(srq, attr, mask);
	pthread_mutex_unlock(&srq->lock);
	return error;
}

int softverbs_ibv_query_srq(struct ibv_srq *base, struct ibv_srq_attr *attr)
{
	struct softdev_srq *srq = to_srq(base);

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
	pthread_mutex_lock(&srq->lock);
	*attr = (struct ibv_srq_attr){srq->max_wr, srq->max_sge, srq->limit};
	pthread_mutex_unlock(&srq->lock);
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

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
	if (atomic_load(&srq->users))
		return errno = EBUSY;
	if (!handle_remove(HANDLE_SRQ, base->handle, srq))
		return ENOENT;
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
	pthread_mutex_lock(&srq->lock);
	srq->async_raised++;
	async_raise(srq->base.context, source);
	pthread_mutex_unlock(&srq->lock);
	return true;
}

struct rqe *srq_take(struct softdev_srq *srq)
{
	struct rqe *rqe;

	pthread_mutex_lock(&srq->lock);
	rqe = srq->first;
	if (rqe) {
		srq->first = rqe->next;
		if (!srq->first)
			srq->last = &srq->first;
		srq->posted--;
		tell_limit(srq);
	}
	pthread_mutex_unlock(&srq->lock);
	return rqe;
}

void srq_put_back(struct rqe *rqe)
{
	struct softdev_srq *srq = rqe->srq;

	pthread_mutex_lock(&srq->lock);
	rqe->next = srq->first;
	srq->first = rqe;
	if (!rqe->next)
		srq->last = &rqe->next;
	srq->posted++;
	pthread_mutex_unlock(&srq->lock);
}

void srq_release(struct rqe *rqe)
{
	struct softdev_srq *srq = rqe->srq;

	pthread_mutex_lock(&srq->lock);
	rqe->next = srq->unused;
	srq->unused = rqe;
	srq->used--;
	pthread_mutex_unlock(&srq->lock);
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
	if (!rqe)
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
	pthread_mutex_lock(&srq->lock);
	for (; wr; wr = wr->next) {
		error = post_one(srq, wr);
		if (error) {
			*bad_wr = wr;
			break;
		}
	}
	pthread_mutex_unlock(&srq->lock);
	return error;
}

void srq_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.post_srq_recv = post_srq_recv;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/cq.h"

#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "process/counters.h"
#include "process/handle.h"
#include "process/log.h"
#include "queue/cq_fault.h"
#include "queue/qp.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A thread yields the processor after this many looks at an empty queue. */
enum { SPINS = 64 };

static void fail_queue_pairs(void *owner)
{
	qp_fail_all_of(owner);
}

static int check_creation(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	if (is_inherited(context))
		return EIO;
	if (!attr->cqe || attr->cqe > DEVICE_MAX_CQE || attr->comp_vector >= DEVICE_COMP_VECTORS)
		return EINVAL;
	if (attr->channel && attr->channel->context != context)
		return EBADF;
	return fault_call(FAULT_CREATE_CQ);
}

struct softdev_cq *cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	struct softdev_cq *cq;
	int64_t handle = -1;
	int error = check_creation(context, attr);

	if (error)
		return null_with(error);
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return NULL;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		cq->parent_domain = to_pd(attr->parent_domain);
	cq->ring = pd_allocate(cq->parent_domain, PD_RESOURCE_CQ, attr->cqe * sizeof(*cq->ring), &cq->memory);
	if (cq->ring)
		handle = handle_add(HANDLE_CQ, cq);
	if (handle < 0) {
		pd_release(&cq->memory);
		free(cq);
		return null_with(ENOMEM);
	}
	cq->capacity = attr->cqe;
	cq->base.context = context;
	cq->base.channel = attr->channel;
	cq->base.cq_context = attr->cq_context;
	cq->base.handle = handle;
	cq->base.cqe = attr->cqe;
	cq->error.event = (struct ibv_async_event){.element.cq = &cq->base, .event_type = IBV_EVENT_CQ_ERR};
	cq->overrun_task = (struct progress_task){.callback = fail_queue_pairs, .owner = cq};
	if (cq->parent_domain)
		atomic_fetch_add(&cq->parent_domain->users, 1);
	if (attr->channel)
		atomic_fetch_add(&to_channel(attr->channel)->users, 1);
	context_hold(context);
	COUNT(cq_live);
	COUNT(cq_ever);
	return cq;
}

struct ibv_cq *softverbs_ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
				       struct ibv_comp_channel *channel, int comp_vector)
{
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe < 0 ? 0 : cqe, /* 0 is refused as a negative number is */
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct softdev_cq *cq = cq_create(context, &attr);

	return cq ? &cq->base : NULL;
}

int softverbs_ibv_resize_cq(struct ibv_cq *base, int cqe)
{
	struct softdev_cq *cq = to_cq(base);
	struct pd_memory memory;
	struct cqe *ring;
	int error = is_inherited(base->context) ? EIO : fault_call(FAULT_RESIZE_CQ);

	if (error)
		return error;
	if (!handle_is(HANDLE_CQ, base->handle, cq))
		return ENOENT;
	if (cqe <= 0 || cqe > DEVICE_MAX_CQE)
		return EINVAL;
	ring = pd_allocate(cq->parent_domain, PD_RESOURCE_CQ, cqe * sizeof(*ring), &memory);
	if (!ring)
		return ENOMEM;
	pthread_mutex_lock(&cq->lock);
	if (cq->count > (uint32_t)cqe) {
		error = EINVAL;
	} else {
		struct pd_memory old = cq->memory;

		for (uint32_t i = 0; i < cq->count; i++)
			ring[i] = cq->ring[(cq->head + i) % cq->capacity];
		cq->ring = ring;
		cq->memory = memory;
		cq->head = 0;
		cq->capacity = cqe;
		base->cqe = cqe;
		memory = old;
	}
	pthread_mutex_unlock(&cq->lock);
	pd_release(&memory);
	return error;
}

static void cancel_overrun_task(void *owner)
{
	struct softdev_cq *cq = owner;

	progress_cancel(&cq->overrun_task);
}

/* Takes undelivered events back and waits until the application has acknowledged the delivered ones. */
static void wait_for_acks(struct softdev_cq *cq)
{
	if (cq->base.channel)
		cq->comp_raised -= event_queue_remove(&to_channel(cq->base.channel)->queue, &cq->comp_node);
	cq->async_raised -= async_withdraw(cq->base.context, &cq->error);
	async_await_acks(&cq->base.mutex, &cq->base.cond, &cq->base.comp_events_completed, cq->comp_raised);
	async_await_acks(&cq->base.mutex, &cq->base.cond, &cq->base.async_events_completed, cq->async_raised);
}

int softverbs_ibv_destroy_cq(struct ibv_cq *base)
{
	struct softdev_cq *cq = to_cq(base);
	int error = is_inherited(base->context) ? EIO : handle_remove(HANDLE_CQ, base->handle, cq, &cq->users);

	if (error)
		return error;
	if (cq->overrun)
		progress_call(cancel_overrun_task, cq);
	wait_for_acks(cq);
	if (base->channel)
		atomic_fetch_sub(&to_channel(base->channel)->users, 1);
	context_release(base->context);
	COUNT_DOWN(cq_live);
	pd_release(&cq->memory);
	if (cq->parent_domain)
		atomic_fetch_sub(&cq->parent_domain->users, 1);
	free(cq);
	return 0;
}

void softverbs_ibv_ack_cq_events(struct ibv_cq *base, unsigned int count)
{
	async_count_acks(&base->mutex, &base->cond, &base->comp_events_completed, count);
}

/* Called with cq->lock held. */
static void notify(struct softdev_cq *cq, bool solicited)
{
	if (!cq->base.channel || cq->armed == CQ_NOT_ARMED ||
	    (cq->armed == CQ_ARMED_SOLICITED && !solicited))
		return;
	cq->armed = CQ_NOT_ARMED;
	cq->comp_raised++;
	event_queue_push(&to_channel(cq->base.channel)->queue, &cq->comp_node);
}

/* Called with cq->lock held. */
static void overrun(struct softdev_cq *cq)
{
	if (cq->overrun)
		return;
	log_warn("completion queue of %u entries overrun", cq->capacity);
	cq->overrun = true;
	cq->async_raised++;
	async_raise(cq->base.context, &cq->error);
	progress_post(&cq->overrun_task);
}

void cq_fail(struct softdev_cq *cq)
{
	HOLD_LOCK(&cq->lock);
	overrun(cq);
}

static uint64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
}

void cq_push(struct softdev_cq *cq, const struct cqe *entry, bool solicited)
{
	if (fault_is_on() && fault_takes_completion(cq, entry, solicited))
		return;
	cq_push_now(cq, entry, solicited);
}

void cq_push_now(struct softdev_cq *cq, const struct cqe *entry, bool solicited)
{
	HOLD_LOCK(&cq->lock);
	cq_add(cq, entry, solicited);
}

void cq_add(struct softdev_cq *cq, const struct cqe *entry, bool solicited)
{
	if (cq->count < cq->capacity) {
		struct cqe *added = &cq->ring[(cq->head + cq->count++) % cq->capacity];

		*added = *entry;
		if (cq->takes_time) {
			added->device_ns = progress_now_ns();
			added->wall_ns = wall_ns();
		}
		notify(cq, solicited || entry->wc.status != IBV_WC_SUCCESS);
	} else {
		if (entry->shared_receive) /* the shared queue also serves QPs that do not use this CQ */
			srq_release(entry->shared_receive);
		if (!cq->ignores_overrun)
			overrun(cq);
	}
}

void cq_purge(struct softdev_cq *cq, const struct softdev_qp *qp)
{
	uint32_t kept = 0;

	if (fault_is_on())
		fault_forget_completions(qp);
	HOLD_LOCK(&cq->lock);
	for (uint32_t i = 0; i < cq->count; i++) {
		struct cqe *entry = &cq->ring[(cq->head + i) % cq->capacity];

		if (entry->qp != qp)
			cq->ring[(cq->head + kept++) % cq->capacity] = *entry;
		else if (entry->shared_receive)
			qp_free_slots(entry);
	}
	cq->count = kept;
}

/*
 * Begins a look for completions by the application. Returns with cq->lock held.
 *
 * A thread that spins on an empty queue yields the processor, because a progress thread, of this process or of the
 * peer's, brings what it waits for. It yields before the look rather than after it: what a program does when it has
 * found nothing, for example reading its events and closing disconnected ids, must not rest on an old look.
 */
static void lock_to_look(struct softdev_cq *cq)
{
	pthread_mutex_lock(&cq->lock);
	if (!cq->count && cq->empty_looks > SPINS) {
		pthread_mutex_unlock(&cq->lock);
		sched_yield();
		pthread_mutex_lock(&cq->lock);
	}
}

static void unlock_after_look(struct softdev_cq *cq, bool found)
{
	cq->empty_looks = found ? 0 : cq->empty_looks + 1;
	pthread_mutex_unlock(&cq->lock);
}

/*
 * Called with cq->lock held. Returns NULL if the queue is empty. The entry stays readable until the lock is released.
 */
static const struct cqe *take_oldest(struct softdev_cq *cq)
{
	const struct cqe *entry = &cq->ring[cq->head];

	if (!cq->count)
		return NULL;
	qp_free_slots(entry);
	cq->head = (cq->head + 1) % cq->capacity;
	cq->count--;
	return entry;
}

bool cq_take(struct softdev_cq *cq, struct cqe *out)
{
	const struct cqe *entry;

	lock_to_look(cq);
	entry = take_oldest(cq);
	if (entry)
		*out = *entry;
	unlock_after_look(cq, entry);
	return entry;
}

static int poll_cq(struct ibv_cq *base, int max, struct ibv_wc *wc)
{
	struct softdev_cq *cq = to_cq(base);
	const struct cqe *entry;
	int polled = 0;

	if (is_inherited(base->context)) { /* in the child of a fork the lock may be held for ever */
		errno = EIO;
		return -1;
	}
	lock_to_look(cq);
	while (polled < max && (entry = take_oldest(cq)))
		wc[polled++] = entry->wc;
	unlock_after_look(cq, polled);
	return polled;
}

static int req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	struct softdev_cq *cq = to_cq(base);

	if (is_inherited(base->context))
		return EIO;
	if (!handle_is(HANDLE_CQ, base->handle, cq))
		return ENOENT;
	pthread_mutex_lock(&cq->lock);
	if (!solicited_only)
		cq->armed = CQ_ARMED_ANY;
	else if (cq->armed == CQ_NOT_ARMED)
		cq->armed = CQ_ARMED_SOLICITED;
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

void cq_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.poll_cq = poll_cq;
	verbs->context.ops.req_notify_cq = req_notify_cq;
	verbs->create_cq_ex = cq_create_ex;
}

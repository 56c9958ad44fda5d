/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/qp.h"

#include "device/device.h"
#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "link/ports.h"
#include "memory/peer_table.h"
#include "process/cancel.h"
#include "process/counters.h"
#include "process/handle.h"
#include "process/log.h"
#include "queue/qp_table.h"
#include "queue/wr_builder.h"
#include "softverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct qp_state {
	uint64_t next_generation;
};

ENGINE_PART(qp, NULL);

static const enum ibv_event_type async_types[QP_ASYNC_COUNT] = {
	[QP_ASYNC_FATAL] = IBV_EVENT_QP_FATAL,
	[QP_ASYNC_REQ_ERR] = IBV_EVENT_QP_REQ_ERR,
	[QP_ASYNC_ACCESS_ERR] = IBV_EVENT_QP_ACCESS_ERR,
	[QP_ASYNC_COMM_EST] = IBV_EVENT_COMM_EST,
	[QP_ASYNC_DRAINED] = IBV_EVENT_SQ_DRAINED,
	[QP_ASYNC_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
	[QP_ASYNC_PATH_MIG] = IBV_EVENT_PATH_MIG,
	[QP_ASYNC_PATH_MIG_ERR] = IBV_EVENT_PATH_MIG_ERR,
};

/* Publishes to peers what they may READ without the responder. Called with qp->lock held. */
static void publish(struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);
	bool responds = state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD;

	/* pairs with the acquire load in shortcut.c */
	atomic_store_explicit(&own_table()->qp[qp->slot].readable,
			      responds && (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) &&
				      qp->attr.max_dest_rd_atomic,
			      memory_order_release);
}

/* Peers that connected before the RESET see that their generation is over. */
static void new_generation(struct softdev_qp *qp)
{
	uint64_t generation = __atomic_add_fetch(&engine->qp->next_generation, 2, __ATOMIC_RELAXED) | 1;

	atomic_store(&own_table()->qp[qp->slot].generation, generation);
}

uint64_t qp_generation(const struct softdev_qp *qp)
{
	return atomic_load_explicit(&own_table()->qp[qp->slot].generation, memory_order_relaxed);
}

void qp_busy_begin(struct softdev_qp *qp)
{
	qp->busy++;
}

void qp_busy_end(struct softdev_qp *qp)
{
	if (--qp->busy)
		return;
	if (atomic_load(&qp->state) == IBV_QPS_ERR) {
		sq_flush(qp);
		rq_flush(qp);
	} else if (atomic_load(&qp->state) == IBV_QPS_SQE) {
		sq_flush(qp);
	}
	pthread_cond_broadcast(&qp->idle);
}

/*
 * Leaves ibv_qp.state alone: it follows only the program's own ibv_modify_qp() and ibv_query_qp(), as on hardware. UCX
 * asserts that.
 */
void qp_enter_error(struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	if (state == IBV_QPS_ERR || state == IBV_QPS_RESET)
		return;
	atomic_store(&qp->state, IBV_QPS_ERR);
	publish(qp);
	progress_post(&qp->task);
	qp_busy_begin(qp);
	qp_busy_end(qp);
}

void qp_enter_send_error(struct softdev_qp *qp)
{
	if (qp->base.qp_type == IBV_QPT_RC) {
		qp_enter_error(qp);
		return;
	}
	if (atomic_load(&qp->state) != IBV_QPS_RTS && atomic_load(&qp->state) != IBV_QPS_SQD)
		return;
	atomic_store(&qp->state, IBV_QPS_SQE);
	progress_post(&qp->task);
	qp_busy_begin(qp);
	qp_busy_end(qp);
}

void qp_raise(struct softdev_qp *qp, enum qp_async kind)
{
	qp->async_raised++;
	async_raise(qp->base.context, &qp->async[kind]);
}

bool qp_raise_type(struct softdev_qp *qp, enum ibv_event_type type)
{
	for (int kind = 0; kind < QP_ASYNC_COUNT; kind++)
		if (async_types[kind] == type) {
			qp_raise(qp, kind);
			return true;
		}
	return false;
}

static void fail_if_uses(struct softdev_qp *qp, void *argument)
{
	int state;

	pthread_mutex_lock(&qp->lock);
	state = atomic_load(&qp->state);
	if ((qp->send_cq == argument || qp->recv_cq == argument) && state != IBV_QPS_RESET &&
	    state != IBV_QPS_ERR) {
		qp_raise(qp, QP_ASYNC_FATAL);
		qp_enter_error(qp);
	}
	pthread_mutex_unlock(&qp->lock);
}

void qp_fail_all_of(const struct softdev_cq *cq)
{
	qp_for_each(fail_if_uses, (void *)(uintptr_t)cq);
}

static void free_qp(struct softdev_qp *qp)
{
	pthread_mutex_destroy(&qp->lock);
	pthread_cond_destroy(&qp->idle);
	pthread_mutex_destroy(&qp->base.mutex);
	pthread_cond_destroy(&qp->base.cond);
	if (qp->transport->destroy)
		qp->transport->destroy(qp);
	wr_builder_free(qp->builder);
	for (int i = 0; i < qp->memory_count; i++)
		pd_release(&qp->memory[i]);
	free(qp);
}

/* Allocates an array that may have length 0. Returns NULL only if memory is short. */
static void *array(struct softdev_qp *qp, size_t count, size_t size)
{
	return pd_allocate(qp->pd, PD_RESOURCE_QP, count * size, &qp->memory[qp->memory_count++]);
}

/* Returns the index mask of the smallest ring with room for `entries`. */
static uint32_t ring_mask(uint32_t entries)
{
	uint32_t mask = 0;

	while (mask + 1 < entries)
		mask = mask * 2 + 1;
	return mask;
}

static struct softdev_qp *new_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct softdev_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	random_bytes(qp->requester.id, sizeof(qp->requester.id));
	qp->base.context = pd->context;
	qp->base.qp_context = init->qp_context;
	qp->base.pd = pd;
	qp->base.send_cq = init->send_cq;
	qp->base.recv_cq = init->recv_cq;
	qp->base.srq = init->srq;
	qp->base.state = IBV_QPS_RESET;
	qp->base.qp_type = init->qp_type;
	pthread_mutex_init(&qp->base.mutex, NULL);
	pthread_cond_init(&qp->base.cond, NULL);
	pthread_mutex_init(&qp->lock, NULL);
	pthread_cond_init(&qp->idle, NULL);
	qp->pd = to_pd(pd);
	qp->send_cq = to_cq(init->send_cq);
	qp->recv_cq = to_cq(init->recv_cq);
	qp->cap = init->cap;
	if (init->srq) {
		qp->rq.srq = to_srq(init->srq);
		qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
	}
	if (qp->cap.max_inline_data < DEVICE_MIN_INLINE)
		qp->cap.max_inline_data = DEVICE_MIN_INLINE;
	if (!qp->cap.max_send_sge) /* ibv_wr_set_inline_data() needs one, too */
		qp->cap.max_send_sge = 1;
	qp->sq_sig_all = init->sq_sig_all;
	qp->transport = qp_transports[init->qp_type];
	for (int i = 0; i < QP_ASYNC_COUNT; i++)
		qp->async[i].event = (struct ibv_async_event){.element.qp = &qp->base,
							      .event_type = async_types[i]};
	qp->sq.mask = ring_mask(qp->cap.max_send_wr);
	qp->rq.mask = ring_mask(qp->cap.max_recv_wr);
	qp->sq.slots = array(qp, qp->sq.mask + 1, sizeof(*qp->sq.slots));
	qp->sq.sges = array(qp, ((size_t)qp->sq.mask + 1) * qp->cap.max_send_sge, sizeof(struct ibv_sge));
	qp->sq.inline_data = array(qp, ((size_t)qp->sq.mask + 1) * qp->cap.max_inline_data, 1);
	qp->rq.slots = array(qp, (size_t)qp->rq.mask + 1, sizeof(*qp->rq.slots));
	qp->rq.sges =
		array(qp, ((size_t)qp->rq.mask + 1) * qp->cap.max_recv_sge, sizeof(struct ibv_sge));
	if (!qp->sq.slots || !qp->sq.sges || !qp->sq.inline_data || !qp->rq.slots || !qp->rq.sges) {
		free_qp(qp);
		return NULL;
	}
	return qp;
}

static int check_init_attr(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	if (is_inherited(pd->context))
		return EIO;
	if (!handle_is(HANDLE_PD, pd->handle, pd) || !init->send_cq || !init->recv_cq)
		return EINVAL;
	if (!handle_is(HANDLE_CQ, init->send_cq->handle, init->send_cq) ||
	    !handle_is(HANDLE_CQ, init->recv_cq->handle, init->recv_cq))
		return EINVAL;
	if (init->srq && !handle_is(HANDLE_SRQ, init->srq->handle, init->srq))
		return EINVAL;
	if (init->send_cq->context != pd->context || init->recv_cq->context != pd->context ||
	    (init->srq && init->srq->context != pd->context))
		return EINVAL; /* an object of one context is unknown to another */
	if ((unsigned int)init->qp_type > IBV_QPT_UD || !qp_transports[init->qp_type]) {
		log_warn("a queue pair of type %d is not supported: RC (%d), UC (%d) and UD (%d) are", init->qp_type,
			 IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD);
		return EOPNOTSUPP;
	}
	if (!init->srq && (init->cap.max_recv_wr > DEVICE_MAX_WR || init->cap.max_recv_sge > DEVICE_MAX_SGE))
		return EINVAL;
	if (init->cap.max_send_wr > DEVICE_MAX_WR || init->cap.max_send_sge > DEVICE_MAX_SGE ||
	    init->cap.max_inline_data > DEVICE_MAX_INLINE)
		return EINVAL;
	return 0;
}

struct ibv_qp *softverbs_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct softdev_qp *qp;
	int error = check_init_attr(pd, init);

	if (!error)
		error = fault_call(FAULT_CREATE_QP);
	if (!error && !own_table())
		error = errno;
	if (error)
		goto failed;
	qp = new_qp(pd, init);
	if (!qp) {
		error = ENOMEM;
		goto failed;
	}
	error = qp->transport->create(qp);
	if (!error)
		error = qp_table_take_number(qp);
	if (error)
		goto free_it;
	if (qp->transport->open)
		error = qp->transport->open(qp);
	if (error)
		goto free_number;
	own_table()->qp[qp->slot].pd = qp->pd->id;
	new_generation(qp);
	publish(qp);
	atomic_fetch_add(&qp->pd->users, 1);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	if (qp->rq.srq)
		atomic_fetch_add(&qp->rq.srq->users, 1);
	init->cap = qp->cap;
	qp_table_add(qp);
	COUNT(qp_live);
	COUNT(qp_ever);
	return &qp->base;

free_number:
	qp_table_give_number_back(qp);
free_it:
	free_qp(qp);
failed:
	errno = error;
	return NULL;
}

/* Runs on the progress thread; afterwards no callback uses the QP. */
static void disconnect(void *owner)
{
	struct softdev_qp *qp = owner;

	sq_stop_watching(qp);
	progress_cancel(&qp->task);
	progress_timer_cancel(&qp->timer);
	qp->transport->disconnect(qp);
}

/* Called with qp->lock held. Waits for at most one slice of a copy. */
static void wait_until_idle(struct softdev_qp *qp)
{
	int cancel = cancel_put_off();

	while (qp->busy)
		pthread_cond_wait(&qp->idle, &qp->lock);
	cancel_restore(cancel);
}

/* Called with qp->lock held; releases it for a while. */
static void reset(struct softdev_qp *qp)
{
	atomic_store(&qp->state, IBV_QPS_RESET);
	qp->base.state = IBV_QPS_RESET;
	publish(qp);
	new_generation(qp);
	wait_until_idle(qp);
	pthread_mutex_unlock(&qp->lock);
	progress_call(disconnect, qp);
	cq_purge(qp->send_cq, qp);
	cq_purge(qp->recv_cq, qp);
	pthread_mutex_lock(&qp->lock);
	if (qp->transport->reset)
		qp->transport->reset(qp);
	qp->sq.post = qp->sq.exec = qp->sq.done = qp->sq.started = 0;
	atomic_store(&qp->sq.freed, 0);
	qp->sq.reads_outstanding = 0;
	rq_reset(qp);
	qp->requester.rnr_waiting = qp->requester.retry_waiting = qp->requester.peer_gone = qp->requester.path_changed = qp->sq.tell_drained = false;
	qp->sq.late_status = IBV_WC_SUCCESS;
	qp->requester.was_open = qp->responder.passed_files = qp->responder.established = false;
	qp->requester.retry_deadline_ns = 0;
	memset(&qp->attr, 0, sizeof(qp->attr));
}

/*
 * Lets the progress thread send what it can send at once before the queue pair ends. Hardware has started on a request
 * when ibv_post_send() returns, and programs end a connection right after their last message.
 */
static void send_what_is_posted(struct softdev_qp *qp)
{
	bool waits;

	pthread_mutex_lock(&qp->lock);
	waits = atomic_load(&qp->state) == IBV_QPS_RTS && qp->requester.state == REQUESTER_OPEN &&
		qp->sq.exec != qp->sq.post;
	pthread_mutex_unlock(&qp->lock);
	if (waits)
		progress_call(qp->task.callback, qp);
}

int softverbs_ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	struct softdev_qp *qp = to_qp(base);
	enum ibv_qp_state next;
	int error;

	if (is_inherited(base->context))
		return EIO;
	if (!qp_is_live(qp))
		return ENOENT;
	error = fault_call(FAULT_MODIFY_QP, .qpn = base->qp_num,
			   .kind = mask & IBV_QP_STATE ? (int)attr->qp_state : -1);
	if (error)
		return error;
	if ((mask & IBV_QP_STATE) && (attr->qp_state == IBV_QPS_ERR || attr->qp_state == IBV_QPS_RESET))
		send_what_is_posted(qp);
	pthread_mutex_lock(&qp->lock);
	error = qp_check_transition(qp, attr, mask, &next);
	if (error)
		goto unlock;
	if (next == IBV_QPS_RESET) {
		reset(qp);
		goto unlock;
	}
	if (next == IBV_QPS_ERR) {
		qp_enter_error(qp);
		base->state = IBV_QPS_ERR;
		wait_until_idle(qp);
		goto unlock;
	}
	if (atomic_load(&qp->state) == IBV_QPS_SQE)
		wait_until_idle(qp); /* requests that were posted before are flushed first */
	qp_apply_attributes(qp, attr, mask);
	atomic_store(&qp->state, next);
	base->state = next;
	publish(qp);
	if (next == IBV_QPS_RTS)
		progress_post(&qp->task);
	if (next == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY))
		qp->sq.tell_drained = attr->en_sqd_async_notify;
	sq_tell_if_drained(qp);
unlock:
	pthread_mutex_unlock(&qp->lock);
	return error;
}

int softverbs_ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
			   struct ibv_qp_init_attr *init)
{
	struct softdev_qp *qp = to_qp(base);

	(void)mask;
	if (is_inherited(base->context))
		return EIO;
	if (!qp_is_live(qp))
		return ENOENT;
	pthread_mutex_lock(&qp->lock);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = atomic_load(&qp->state);
	attr->path_mig_state = IBV_MIG_MIGRATED;
	attr->cap = qp->cap;
	attr->sq_draining = attr->qp_state == IBV_QPS_SQD && !sq_is_drained(qp);
	*init = (struct ibv_qp_init_attr){
		.qp_context = base->qp_context,
		.send_cq = base->send_cq,
		.recv_cq = base->recv_cq,
		.srq = base->srq,
		.cap = qp->cap,
		.qp_type = base->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	base->state = attr->qp_state;
	pthread_mutex_unlock(&qp->lock);
	return 0;
}

static void wait_for_acks(struct softdev_qp *qp)
{
	for (int i = 0; i < QP_ASYNC_COUNT; i++)
		qp->async_raised -= async_withdraw(qp->base.context, &qp->async[i]);
	async_await_acks(&qp->base.mutex, &qp->base.cond, &qp->base.events_completed, qp->async_raised);
}

int softverbs_ibv_destroy_qp(struct ibv_qp *base)
{
	struct softdev_qp *qp = to_qp(base);
	struct softdev_pd *pd = qp->pd;
	int error = is_inherited(base->context) ? EIO : fault_call(FAULT_DESTROY_QP, .qpn = base->qp_num);

	if (error)
		return error;
	if (qp_is_live(qp))
		send_what_is_posted(qp);
	if (!qp_table_remove(qp))
		return ENOENT;
	pthread_mutex_lock(&qp->lock);
	reset(qp);
	pthread_mutex_unlock(&qp->lock);
	sq_leave_queue(qp);
	qp_table_give_number_back(qp);
	wait_for_acks(qp);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	if (qp->rq.srq)
		atomic_fetch_sub(&qp->rq.srq->users, 1);
	COUNT_DOWN(qp_live);
	free_qp(qp);
	atomic_fetch_sub(&pd->users, 1); /* last, because its allocator may own the memory */
	return 0;
}

void qp_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.post_send = qp_post_send;
	verbs->context.ops.post_recv = qp_post_recv;
	verbs->context.ops.bind_mw = qp_bind_mw;
	verbs->create_qp_ex = qp_create_ex;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The changes of a queue pair's state, by the program and by errors; qp_attr.c says which of them are allowed. */
#include "device/device.h"
#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "memory/peer_table.h"
#include "process/cancel.h"
#include "queue/qp.h"

#include <errno.h>
#include <string.h>

struct qp_state {
	uint64_t next_generation;
};

ENGINE_PART(qp, NULL);

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
void qp_begin_generation(struct softdev_qp *qp)
{
	uint64_t generation = __atomic_add_fetch(&engine->qp->next_generation, 2, __ATOMIC_RELAXED) | 1;

	own_table()->qp[qp->slot].pd = qp->pd->id;
	publish(qp);
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

void qp_flush(struct softdev_qp *qp)
{
	qp_busy_begin(qp);
	qp_busy_end(qp);
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
	qp_flush(qp);
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
	qp_flush(qp);
}

static void fail_if_uses(struct softdev_qp *qp, void *argument)
{
	HOLD_LOCK(&qp->lock);
	int state = atomic_load(&qp->state);

	if ((qp->send_cq == argument || qp->recv_cq == argument) && state != IBV_QPS_RESET && state != IBV_QPS_ERR) {
		qp_raise(qp, QP_ASYNC_FATAL);
		qp_enter_error(qp);
	}
}

void qp_fail_all_of(const struct softdev_cq *cq)
{
	qp_for_each(fail_if_uses, (void *)(uintptr_t)cq);
}

/* Runs on the progress thread; afterwards no callback uses the QP. */
static void disconnect(void *owner)
{
	struct softdev_qp *qp = owner;

	progress_cancel(&qp->task);
	progress_timer_cancel(&qp->timer);
	qp->transport->disconnect(qp);
}

/* Called with qp->lock held. Waits for a slice of a copy; false if that takes a second, as from a disk that has stopped. */
static bool wait_until_idle(struct softdev_qp *qp)
{
	struct timespec limit;
	int cancel = cancel_put_off(), error = 0;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec++;
	while (qp->busy && !error)
		error = pthread_cond_timedwait(&qp->idle, &qp->lock, &limit);
	cancel_restore(cancel);
	return !qp->busy;
}

bool qp_stop(struct softdev_qp *qp)
{
	atomic_store(&qp->state, IBV_QPS_RESET);
	qp->base.state = IBV_QPS_RESET;
	qp_begin_generation(qp);
	if (wait_until_idle(qp))
		return true;
	atomic_store(&qp->state, qp->base.state = IBV_QPS_ERR);
	return false;
}

void qp_reset(struct softdev_qp *qp)
{
	while (!qp_stop(qp))
		;
	pthread_mutex_unlock(&qp->lock);
	progress_call(disconnect, qp);
	cq_purge(qp->send_cq, qp);
	cq_purge(qp->recv_cq, qp);
	pthread_mutex_lock(&qp->lock);
	qp->sq.post = qp->sq.exec = qp->sq.done = qp->sq.started = 0;
	atomic_store(&qp->sq.freed, 0);
	qp->sq.reads_outstanding = 0;
	rq_reset(qp);
	qp->sq.tell_drained = false;
	qp->sq.late_status = IBV_WC_SUCCESS;
	qp->requester.rnr_waiting = qp->requester.retry_waiting = qp->requester.peer_gone = false;
	qp->requester.was_open = qp->requester.path_changed = false;
	qp->responder.passed_files = qp->responder.established = qp->responder.silent = false;
	qp->requester.retry_deadline_ns = 0;
	memset(&qp->attr, 0, sizeof(qp->attr));
}

/*
 * Hardware has started on a request when ibv_post_send() returns, and programs end a connection right after their last
 * message. What needs no help of the progress thread is executed here.
 */
void qp_send_posted(struct softdev_qp *qp)
{
	bool waits;

	pthread_mutex_lock(&qp->lock);
	/* What has been executed may still be in the hands of the progress thread, which is about to write it. */
	waits = atomic_load(&qp->state) == IBV_QPS_RTS && qp->requester.state == REQUESTER_OPEN &&
		qp->sq.done != qp->sq.post;
	if (waits)
		sq_run(qp);
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
		qp_send_posted(qp);
	HOLD_LOCK(&qp->lock);
	error = qp_check_transition(qp, attr, mask, &next);
	if (error)
		return error;
	if (next == IBV_QPS_RESET) {
		qp_reset(qp);
		return 0;
	}
	if (next == IBV_QPS_ERR) {
		qp_enter_error(qp);
		base->state = IBV_QPS_ERR;
		wait_until_idle(qp);
		return 0;
	}
	if (atomic_load(&qp->state) == IBV_QPS_SQE && !wait_until_idle(qp))
		return EBUSY; /* requests that were posted before are flushed first */
	qp_apply_attributes(qp, attr, mask);
	atomic_store(&qp->state, next);
	base->state = next;
	publish(qp);
	if (next == IBV_QPS_RTS)
		progress_post(&qp->task);
	if (next == IBV_QPS_SQD && (mask & IBV_QP_EN_SQD_ASYNC_NOTIFY))
		qp->sq.tell_drained = attr->en_sqd_async_notify;
	sq_tell_if_drained(qp);
	return 0;
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
	HOLD_LOCK(&qp->lock);
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
	return 0;
}

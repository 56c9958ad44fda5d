/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/sq_defer.h"

#include "device/device.h"
#include "engine.h"
#include "fault/fault.h"
#include "lock.h"
#include "process/cancel.h"
#include "process/progress.h"
#include "queue/qp.h"
#include "queue/send_op.h"

#include <time.h>

enum { POSTS_AT_ONCE = 2, MAX_WAITING_BYTES = 4096, MAX_RESCUES = 8, LONG_PAUSE = 256 };

#define TICK_NS 1000000

static void tick(void *unused);

struct sq_defer_state {
	/* The queue pairs whose READs have been deferred. Any thread adds at the front; the progress thread removes. */
	pthread_mutex_t watched_lock; /* a leaf */
	struct softdev_qp *watched;
	atomic_bool ticking;
	struct progress_task tick_task;
	struct progress_timer tick_timer;
};

static bool init_part(void *part)
{
	struct sq_defer_state *state = part;

	state->tick_task.callback = state->tick_timer.callback = tick;
	return true;
}

ENGINE_PART(sq_defer, init_part);

/* Makes the tick run while READs are deferred. Called with qp->lock held. */
static void keep_ticking(struct softdev_qp *qp)
{
	if (!qp->sq.defer.watched) {
		qp->sq.defer.watched = true;
		pthread_mutex_lock(&engine->sq_defer->watched_lock);
		qp->sq.defer.next_watched = engine->sq_defer->watched;
		engine->sq_defer->watched = qp;
		pthread_mutex_unlock(&engine->sq_defer->watched_lock);
	}
	/* tick() clears `ticking` before it looks at each queue pair under its lock, so no deferred READ is missed. */
	if (!atomic_load(&engine->sq_defer->ticking) && !atomic_exchange(&engine->sq_defer->ticking, true))
		progress_post(&engine->sq_defer->tick_task);
}

/* Returns true if the newest request is a small READ that can be deferred. Called with qp->lock held. */
static bool is_small_read(struct softdev_qp *qp)
{
	const struct wqe *wqe = sq_at(qp, qp->sq.post - 1);

	return wqe->opcode == IBV_WR_RDMA_READ && wqe->length <= MAX_WAITING_BYTES && qp->requester.peer && !qp->sq.running &&
	       atomic_load(&qp->state) == IBV_QPS_RTS && qp->sq.exec == qp->sq.done && !fault_is_on();
}

bool sq_may_wait(struct softdev_qp *qp)
{
	struct softdev_cq *cq = qp->send_cq;
	uint32_t looks = atomic_load_explicit(&cq->looks, memory_order_relaxed);

	if (looks != qp->sq.defer.looks) {
		qp->sq.defer.looks = looks;
		qp->sq.defer.posts = 0;
		qp->sq.defer.rescues -= qp->sq.defer.rescues > 0 && !qp->sq.defer.rescued;
		qp->sq.defer.rescued = false;
	}
	if (++qp->sq.defer.posts <= POSTS_AT_ONCE || qp->sq.defer.rescues >= MAX_RESCUES ||
	    qp->sq.post - qp->sq.exec >= SQ_BATCH || !is_small_read(qp))
		return false;
	HOLD_LOCK(&cq->lock);
	if (cq->armed != CQ_NOT_ARMED) /* the application waits for an event */
		return false;
	if (!list_has(&qp->sq.defer.listed))
		list_add(&cq->waiting, &qp->sq.defer.listed);
	keep_ticking(qp);
	return true;
}

/* Called with cq->lock held. */
static struct softdev_qp *take_listed(struct softdev_cq *cq)
{
	struct softdev_qp *qp = LIST_FIRST(&cq->waiting, struct softdev_qp, sq.defer.listed);

	if (!qp)
		return NULL;
	list_remove(&qp->sq.defer.listed);
	qp->sq.defer.runners++;
	return qp;
}

void sq_run_waiting(struct softdev_cq *cq)
{
	struct softdev_qp *qp;

	if (is_inherited(cq->base.context))
		return;
	pthread_mutex_lock(&cq->lock);
	while ((qp = take_listed(cq))) {
		pthread_mutex_unlock(&cq->lock);
		pthread_mutex_lock(&qp->lock);
		sq_run(qp);
		pthread_mutex_unlock(&qp->lock);
		pthread_mutex_lock(&cq->lock);
		qp->sq.defer.runners--;
	}
	pthread_mutex_unlock(&cq->lock);
}

void sq_leave_queue(struct softdev_qp *qp)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	struct softdev_cq *cq = qp->send_cq;
	int cancel = cancel_put_off();

	pthread_mutex_lock(&cq->lock);
	list_remove(&qp->sq.defer.listed);
	while (qp->sq.defer.runners) { /* at most one slice of a copy */
		pthread_mutex_unlock(&cq->lock);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&cq->lock);
	}
	pthread_mutex_unlock(&cq->lock);
	cancel_restore(cancel);
}

void sq_stop_watching(struct softdev_qp *qp)
{
	struct softdev_qp **link;

	pthread_mutex_lock(&engine->sq_defer->watched_lock);
	for (link = &engine->sq_defer->watched; *link && *link != qp; link = &(*link)->sq.defer.next_watched)
		;
	if (*link)
		*link = qp->sq.defer.next_watched;
	pthread_mutex_unlock(&engine->sq_defer->watched_lock);
	pthread_mutex_lock(&qp->lock);
	qp->sq.defer.watched = false;
	pthread_mutex_unlock(&qp->lock);
}

/* Runs what has waited since the last tick. Returns true if the queue pair has anything left to run. */
static bool look_after(struct softdev_qp *qp)
{
	bool pending, waits;

	HOLD_LOCK(&qp->lock);
	pending = qp->sq.exec != qp->sq.post && qp->sq.exec == qp->sq.done &&
		  qp->requester.state == REQUESTER_OPEN && !qp->requester.rnr_waiting && !qp->requester.waits_for_key &&
		  atomic_load(&qp->state) == IBV_QPS_RTS;
	waits = pending && !qp->sq.running;
	if (waits && qp->sq.defer.waits_at_tick && qp->sq.defer.exec_at_tick == qp->sq.exec) {
		qp->sq.defer.rescued = true;
		if (++qp->sq.defer.rescues >= MAX_RESCUES)
			qp->sq.defer.rescues = LONG_PAUSE;
		progress_post(&qp->task);
	}
	qp->sq.defer.waits_at_tick = waits;
	qp->sq.defer.exec_at_tick = qp->sq.exec;
	return pending;
}

static void tick(void *unused)
{
	struct softdev_qp *qp;
	bool any = false;

	(void)unused;
	atomic_store(&engine->sq_defer->ticking, false);
	pthread_mutex_lock(&engine->sq_defer->watched_lock);
	qp = engine->sq_defer->watched;
	pthread_mutex_unlock(&engine->sq_defer->watched_lock);
	for (; qp; qp = qp->sq.defer.next_watched)
		any |= look_after(qp);
	/* A thread that finds `ticking` false meanwhile posts the task once more, which does no harm. */
	if (any) {
		atomic_store(&engine->sq_defer->ticking, true);
		progress_timer_set(&engine->sq_defer->tick_timer, progress_now_ns() + TICK_NS);
	}
}

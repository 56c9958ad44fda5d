/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/sq_defer.h"

#include "device/device.h"
#include "engine.h"
#include "fault/fault.h"
#include "process/cancel.h"
#include "process/progress.h"
#include "queue/qp.h"
#include "queue/send_op.h"

#include <time.h>

enum { POSTS_AT_ONCE = 2, MAX_WAITING_BYTES = 4096, MAX_RESCUES = 8, LONG_PAUSE = 256 };

#define TICK_NS 1000000

static void tick(void *unused);

struct sq_defer_state {
	/* The queue pairs that had READs wait. Any thread adds in front, the progress thread takes away. */
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

/* qp->lock held. The tick runs as long as something waits. */
static void keep_ticking(struct softdev_qp *qp)
{
	if (!qp->defer.watched) {
		qp->defer.watched = true;
		pthread_mutex_lock(&engine->sq_defer->watched_lock);
		qp->defer.next_watched = engine->sq_defer->watched;
		engine->sq_defer->watched = qp;
		pthread_mutex_unlock(&engine->sq_defer->watched_lock);
	}
	/* Against the tick that ends: it clears this first, then looks at every queue pair under its lock. */
	if (!atomic_load(&engine->sq_defer->ticking) && !atomic_exchange(&engine->sq_defer->ticking, true))
		progress_post(&engine->sq_defer->tick_task);
}

/* qp->lock held: the queue pair and its newest request. */
static bool is_small_read(struct softdev_qp *qp)
{
	const struct wqe *wqe = sq_at(qp, qp->sq_post - 1);

	return wqe->opcode == IBV_WR_RDMA_READ && wqe->length <= MAX_WAITING_BYTES && qp->peer && !qp->sq_running &&
	       atomic_load(&qp->state) == IBV_QPS_RTS && qp->sq_exec == qp->sq_done && !fault_is_on();
}

bool sq_may_wait(struct softdev_qp *qp)
{
	struct softdev_cq *cq = qp->send_cq;
	uint32_t looks = atomic_load_explicit(&cq->looks, memory_order_relaxed);
	bool listed;

	if (looks != qp->defer.looks) {
		qp->defer.looks = looks;
		qp->defer.posts = 0;
		qp->defer.rescues -= qp->defer.rescues > 0 && !qp->defer.rescued;
		qp->defer.rescued = false;
	}
	if (++qp->defer.posts <= POSTS_AT_ONCE || qp->defer.rescues >= MAX_RESCUES ||
	    qp->sq_post - qp->sq_exec >= SQ_BATCH || !is_small_read(qp))
		return false;
	pthread_mutex_lock(&cq->lock);
	listed = cq->armed == CQ_NOT_ARMED; /* else the application waits for an event, not for its own look */
	if (listed && !qp->defer.listed) {
		qp->defer.listed = true;
		qp->defer.next_listed = cq->waiting;
		cq->waiting = qp;
	}
	pthread_mutex_unlock(&cq->lock);
	if (listed)
		keep_ticking(qp);
	return listed;
}

/* cq->lock held. */
static struct softdev_qp *take_listed(struct softdev_cq *cq)
{
	struct softdev_qp *qp = cq->waiting;

	if (!qp)
		return NULL;
	cq->waiting = qp->defer.next_listed;
	qp->defer.listed = false;
	qp->defer.runners++;
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
		qp->defer.runners--;
	}
	pthread_mutex_unlock(&cq->lock);
}

void sq_leave_queue(struct softdev_qp *qp)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	struct softdev_cq *cq = qp->send_cq;
	int cancel = cancel_put_off();
	struct softdev_qp **link;

	pthread_mutex_lock(&cq->lock);
	for (link = &cq->waiting; qp->defer.listed && *link != qp; link = &(*link)->defer.next_listed)
		;
	if (qp->defer.listed)
		*link = qp->defer.next_listed;
	qp->defer.listed = false;
	while (qp->defer.runners) { /* for as long as one slice of a copy */
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
	for (link = &engine->sq_defer->watched; *link && *link != qp; link = &(*link)->defer.next_watched)
		;
	if (*link)
		*link = qp->defer.next_watched;
	pthread_mutex_unlock(&engine->sq_defer->watched_lock);
	pthread_mutex_lock(&qp->lock);
	qp->defer.watched = false;
	pthread_mutex_unlock(&qp->lock);
}

/* True if something is to be run in this queue pair. What waited at the last tick already is run. */
static bool look_after(struct softdev_qp *qp)
{
	bool pending, waits;

	pthread_mutex_lock(&qp->lock);
	pending = qp->sq_exec != qp->sq_post && qp->sq_exec == qp->sq_done &&
		  qp->requester == REQUESTER_OPEN && !qp->rnr_waiting && !qp->waits_for_key &&
		  atomic_load(&qp->state) == IBV_QPS_RTS;
	waits = pending && !qp->sq_running;
	if (waits && qp->defer.waits_at_tick && qp->defer.exec_at_tick == qp->sq_exec) {
		qp->defer.rescued = true;
		if (++qp->defer.rescues >= MAX_RESCUES)
			qp->defer.rescues = LONG_PAUSE;
		progress_post(&qp->task);
	}
	qp->defer.waits_at_tick = waits;
	qp->defer.exec_at_tick = qp->sq_exec;
	pthread_mutex_unlock(&qp->lock);
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
	for (; qp; qp = qp->defer.next_watched)
		any |= look_after(qp);
	/* Who finds it false meanwhile posts the task once more, which then only looks again. */
	if (any) {
		atomic_store(&engine->sq_defer->ticking, true);
		progress_timer_set(&engine->sq_defer->tick_timer, progress_now_ns() + TICK_NS);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One list holds what is kept back, in order of arrival; a timer lets go what is due. Its lock comes after qp.lock and
 * an id's event_lock, before cq.lock and the event queues.
 */
#include "fault/fault_hold.h"

#include "cm/cm.h"
#include "engine.h"
#include "fault/fault.h"
#include "lock.h"
#include "process/log.h"
#include "process/progress.h"
#include "queue/cq.h"
#include "queue/qp.h"

#include <stdlib.h>

#define MS 1000000ull
#define NEVER UINT64_MAX

struct held {
	struct held *next;
	uint64_t due_ns;
	struct softdev_cq *cq; /* the queue of a completion; it, `entry` and `solicited` are not used with an event */
	struct cqe entry;
	bool solicited;
	struct cm_event *event; /* NULL for a completion */
};

static void on_due(void *unused);

struct fault_hold_state {
	pthread_mutex_t lock;
	struct held *first;
	/* Read without the lock, because it is nearly always 0. It counts what is let go until that has arrived. */
	unsigned int held_count;
	struct progress_task task;
	struct progress_timer timer;
};

static bool init_part(void *part)
{
	struct fault_hold_state *state = part;

	state->task.callback = state->timer.callback = on_due;
	return true;
}

ENGINE_PART(fault_hold, init_part);

/* Called with the lock held. */
static struct held *take_out(struct held **place)
{
	struct held *held = *place;

	*place = held->next;
	return held;
}

/* Called with the lock held. */
static void count_less(void)
{
	__atomic_store_n(&engine->fault_hold->held_count, engine->fault_hold->held_count - 1, __ATOMIC_RELEASE);
}

/* Called with the lock held. */
static void let_go(struct held *held)
{
	if (held->event)
		event_queue_push(&held->event->channel->queue, &held->event->node);
	else
		cq_push_now(held->cq, &held->entry, held->solicited);
	count_less();
	free(held);
}

static void on_due(void *unused)
{
	uint64_t now = progress_now_ns(), next = NEVER;
	struct held **place = &engine->fault_hold->first;

	(void)unused;
	pthread_mutex_lock(&engine->fault_hold->lock);
	while (*place) {
		if ((*place)->due_ns <= now) {
			let_go(take_out(place));
			continue;
		}
		if ((*place)->due_ns < next)
			next = (*place)->due_ns;
		place = &(*place)->next;
	}
	pthread_mutex_unlock(&engine->fault_hold->lock);
	if (next != NEVER)
		progress_timer_set(&engine->fault_hold->timer, next);
}

/* Called with the lock held. */
static void hold(const struct held *what)
{
	struct held *held = malloc(sizeof(*held)), **place = &engine->fault_hold->first;

	if (!held) {
		log_error("no memory to hold something back: it is lost");
		return;
	}
	*held = *what;
	held->next = NULL;
	while (*place)
		place = &(*place)->next;
	*place = held;
	__atomic_store_n(&engine->fault_hold->held_count, engine->fault_hold->held_count + 1, __ATOMIC_RELAXED);
	if (held->due_ns != NEVER)
		progress_post(&engine->fault_hold->task);
}

static uint64_t due_after(const struct fault *fault)
{
	return fault->delay_ms ? progress_now_ns() + fault->delay_ms * MS : NEVER;
}

/* Returns when the last held completion of that queue comes; 0 = none is held. Called with the lock held. */
static uint64_t queue_due(const struct softdev_qp *qp, bool is_send)
{
	uint64_t due = 0;

	for (const struct held *held = engine->fault_hold->first; held; held = held->next)
		if (!held->event && held->entry.qp == qp && held->entry.is_send == is_send && held->due_ns > due)
			due = held->due_ns;
	return due;
}

bool fault_takes_completion(struct softdev_cq *cq, const struct cqe *entry, bool solicited)
{
	const struct fault *fault =
		fault_check(FAULT_COMPLETION, .kind = entry->wc.opcode, .qpn = entry->wc.qp_num,
			    .length = entry->wc.byte_len, .result = entry->wc.status);
	struct held held = {.cq = cq, .entry = *entry, .solicited = solicited};

	if (fault && fault->duplicate)
		held.entry.shared_receive = NULL; /* the other one of the two returns it */
	if (fault && fault->drop)
		return true;
	if (fault && fault->overrun) {
		cq_fail(cq);
		return true;
	}
	if (!(fault && fault->delay_ms) && !__atomic_load_n(&engine->fault_hold->held_count, __ATOMIC_ACQUIRE)) {
		if (fault && fault->duplicate)
			cq_push_now(cq, &held.entry, solicited);
		return false;
	}
	HOLD_LOCK(&engine->fault_hold->lock);
	held.due_ns = queue_due(entry->qp, entry->is_send);
	if (fault && fault->delay_ms && due_after(fault) > held.due_ns)
		held.due_ns = due_after(fault);
	if (held.due_ns && fault && fault->duplicate)
		hold(&held);
	held.entry.shared_receive = entry->shared_receive;
	if (held.due_ns)
		hold(&held);
	return held.due_ns;
}

void fault_forget_completions(const struct softdev_qp *qp)
{
	struct held **place = &engine->fault_hold->first;

	if (!__atomic_load_n(&engine->fault_hold->held_count, __ATOMIC_RELAXED))
		return;
	HOLD_LOCK(&engine->fault_hold->lock);
	while (*place)
		if (!(*place)->event && (*place)->entry.qp == qp) {
			struct held *held = take_out(place);

			if (held->entry.shared_receive)
				qp_free_slots(&held->entry);
			count_less();
			free(held);
		} else {
			place = &(*place)->next;
		}
}

bool fault_takes_event(struct cm_event *event)
{
	const struct fault *fault = fault_check(FAULT_CM_EVENT, .kind = event->event.event);
	struct held held = {.event = event};

	if (!fault)
		return false;
	if (fault->event >= 0) {
		event->event.event = fault->event;
		event->event.status = fault->reason >= 0 ? fault->reason : -fault->error;
	}
	if (!fault->drop && !fault->delay_ms)
		return false;
	held.due_ns = due_after(fault);
	HOLD_LOCK(&engine->fault_hold->lock);
	hold(&held);
	return true;
}

void fault_release_events(const struct cm_id *owner)
{
	struct held **place = &engine->fault_hold->first;

	if (!__atomic_load_n(&engine->fault_hold->held_count, __ATOMIC_RELAXED))
		return;
	HOLD_LOCK(&engine->fault_hold->lock);
	while (*place)
		if ((*place)->event && (*place)->event->owner == owner)
			let_go(take_out(place));
		else
			place = &(*place)->next;
}

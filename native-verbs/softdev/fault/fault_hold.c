/* SPDX-License-Identifier: Apache-2.0 */
/* Its lock comes after qp.lock and an id's event_lock, before cq.lock and the event queues. */
#include "fault/fault_hold.h"

#include "engine.h"
#include "lock.h"
#include "process/progress.h"

static void on_due(void *unused);

struct fault_hold_state {
	pthread_mutex_t lock;
	struct list held;
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

/* Takes out what is due by `due_ns`, of anybody (NULL) or one. Returns when the next of the rest is due. Called with the lock held. */
static uint64_t take_out(const void *of, uint64_t due_ns, void (*end)(struct fault_held *held))
{
	struct list *all = &engine->fault_hold->held, *next;
	uint64_t rest_ns = FAULT_NEVER;

	for (struct list *at = all->next; at && at != all; at = next) {
		struct fault_held *held = container_of_(at, struct fault_held, place);

		next = at->next;
		if ((!of || held->of == of) && held->due_ns <= due_ns) {
			list_remove(at);
			(end ? end : held->let_go)(held);
		} else if (held->due_ns < rest_ns) {
			rest_ns = held->due_ns;
		}
	}
	return rest_ns;
}

static void on_due(void *unused)
{
	uint64_t next_ns;

	(void)unused;
	pthread_mutex_lock(&engine->fault_hold->lock);
	next_ns = take_out(NULL, progress_now_ns(), NULL);
	pthread_mutex_unlock(&engine->fault_hold->lock);
	if (next_ns != FAULT_NEVER)
		progress_timer_set(&engine->fault_hold->timer, next_ns);
}

bool fault_hold(struct fault_held *held, uint64_t due_ns)
{
	HOLD_LOCK(&engine->fault_hold->lock);
	LIST_EACH(at, &engine->fault_hold->held) {
		const struct fault_held *other = container_of_(at, struct fault_held, place);

		if (held->in_order && other->of == held->of && other->due_ns > due_ns)
			due_ns = other->due_ns;
	}
	if (!due_ns)
		return false;
	held->due_ns = due_ns;
	list_add(&engine->fault_hold->held, &held->place);
	if (due_ns != FAULT_NEVER)
		progress_post(&engine->fault_hold->task);
	return true;
}

void fault_hold_end(const void *of, void (*end)(struct fault_held *held))
{
	HOLD_LOCK(&engine->fault_hold->lock);
	take_out(of, FAULT_NEVER, end);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/agenda.h"

#include "engine.h"

#include <stddef.h>

struct agenda_state {
	struct progress_task *first_task, **last_task;
	unsigned int tasks;
	struct progress_timer timers; /* by their deadlines */
};

static bool init_part(void *part)
{
	struct agenda_state *state = part;

	state->last_task = &state->first_task;
	state->timers.previous = state->timers.next = &state->timers;
	return true;
}

ENGINE_PART(agenda, init_part);

bool agenda_add(struct progress_task *task)
{
	if (task->queued)
		return false;
	task->queued = true;
	task->next = NULL;
	*engine->agenda->last_task = task;
	engine->agenda->last_task = &task->next;
	engine->agenda->tasks++;
	return true;
}

static void take_out(struct progress_task **place)
{
	struct progress_task *task = *place;

	*place = task->next;
	if (engine->agenda->last_task == &task->next)
		engine->agenda->last_task = place;
	task->queued = false;
	engine->agenda->tasks--;
}

void agenda_remove(struct progress_task *task)
{
	struct progress_task **place = &engine->agenda->first_task;

	if (!task->queued)
		return;
	while (*place != task)
		place = &(*place)->next;
	take_out(place);
}

struct progress_task *agenda_take(void)
{
	struct progress_task *task = engine->agenda->first_task;

	if (task)
		take_out(&engine->agenda->first_task);
	return task;
}

unsigned int agenda_tasks(void)
{
	return engine->agenda->tasks;
}

void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns)
{
	struct progress_timer *after;

	progress_timer_cancel(timer);
	timer->deadline_ns = deadline_ns;
	after = engine->agenda->timers.previous;
	while (after != &engine->agenda->timers && after->deadline_ns > deadline_ns)
		after = after->previous;
	timer->previous = after;
	timer->next = after->next;
	after->next->previous = timer;
	after->next = timer;
	timer->armed = true;
}

void progress_timer_cancel(struct progress_timer *timer)
{
	if (!timer->armed)
		return;
	timer->previous->next = timer->next;
	timer->next->previous = timer->previous;
	timer->armed = false;
}

bool agenda_run_timer(uint64_t now_ns)
{
	struct progress_timer *timer = engine->agenda->timers.next;

	if (timer == &engine->agenda->timers || timer->deadline_ns > now_ns)
		return false;
	progress_timer_cancel(timer);
	timer->callback(timer->owner);
	return true;
}

uint64_t agenda_due_ns(void)
{
	return engine->agenda->timers.next == &engine->agenda->timers ? UINT64_MAX : engine->agenda->timers.next->deadline_ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/agenda.h"

#include "engine.h"

#include <stddef.h>

struct agenda_state {
	struct list task_list, timers; /* timers by their deadlines */
	unsigned int tasks;
};

ENGINE_PART(agenda, NULL);

bool agenda_add(struct progress_task *task)
{
	if (list_has(&task->queued))
		return false;
	list_add(&engine->agenda->task_list, &task->queued);
	engine->agenda->tasks++;
	return true;
}

void agenda_remove(struct progress_task *task)
{
	engine->agenda->tasks -= list_has(&task->queued);
	list_remove(&task->queued);
}

struct progress_task *agenda_take(void)
{
	struct progress_task *task = LIST_FIRST(&engine->agenda->task_list, struct progress_task, queued);

	if (task)
		agenda_remove(task);
	return task;
}

unsigned int agenda_tasks(void)
{
	return engine->agenda->tasks;
}

void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns)
{
	struct list *place = &engine->agenda->timers;

	progress_timer_cancel(timer);
	timer->deadline_ns = deadline_ns;
	while (!list_is_empty(&engine->agenda->timers) && place->previous != &engine->agenda->timers &&
	       container_of_(place->previous, struct progress_timer, armed)->deadline_ns > deadline_ns)
		place = place->previous;
	list_add(place, &timer->armed);
}

void progress_timer_cancel(struct progress_timer *timer)
{
	list_remove(&timer->armed);
}

bool agenda_run_timer(uint64_t now_ns)
{
	struct progress_timer *timer = LIST_FIRST(&engine->agenda->timers, struct progress_timer, armed);

	if (!timer || timer->deadline_ns > now_ns)
		return false;
	progress_timer_cancel(timer);
	timer->callback(timer->owner);
	return true;
}

uint64_t agenda_due_ns(void)
{
	const struct progress_timer *timer = LIST_FIRST(&engine->agenda->timers, struct progress_timer, armed);

	return timer ? timer->deadline_ns : UINT64_MAX;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/agenda.h"

#include <stddef.h>

static struct progress_task *first_task, **last_task = &first_task;
static unsigned int tasks;
static struct progress_timer timers = {.previous = &timers, .next = &timers}; /* by their deadlines */

bool agenda_add(struct progress_task *task)
{
	if (task->queued)
		return false;
	task->queued = true;
	task->next = NULL;
	*last_task = task;
	last_task = &task->next;
	tasks++;
	return true;
}

static void take_out(struct progress_task **place)
{
	struct progress_task *task = *place;

	*place = task->next;
	if (last_task == &task->next)
		last_task = place;
	task->queued = false;
	tasks--;
}

void agenda_remove(struct progress_task *task)
{
	struct progress_task **place = &first_task;

	if (!task->queued)
		return;
	while (*place != task)
		place = &(*place)->next;
	take_out(place);
}

struct progress_task *agenda_take(void)
{
	struct progress_task *task = first_task;

	if (task)
		take_out(&first_task);
	return task;
}

unsigned int agenda_tasks(void)
{
	return tasks;
}

void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns)
{
	struct progress_timer *after;

	progress_timer_cancel(timer);
	timer->deadline_ns = deadline_ns;
	after = timers.previous;
	while (after != &timers && after->deadline_ns > deadline_ns)
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
	struct progress_timer *timer = timers.next;

	if (timer == &timers || timer->deadline_ns > now_ns)
		return false;
	progress_timer_cancel(timer);
	timer->callback(timer->owner);
	return true;
}

uint64_t agenda_due_ns(void)
{
	return timers.next == &timers ? UINT64_MAX : timers.next->deadline_ns;
}

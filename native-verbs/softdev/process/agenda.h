/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of the progress thread: tasks, which run soon, and timers, which run when they are due (progress_timer_set(),
 * progress_timer_cancel()).
 */
#ifndef SOFTDEV_AGENDA_H
#define SOFTDEV_AGENDA_H

#include "process/progress.h"

/* The tasks. The caller holds its own lock around these calls. */

/* Queues a task. Returns false if it is queued already. */
bool agenda_add(struct progress_task *task);
void agenda_remove(struct progress_task *task);
/* Takes the oldest task off the queue. Returns NULL if there is none. */
struct progress_task *agenda_take(void);
unsigned int agenda_tasks(void);

/* The timers. Progress thread only. */

/* Runs the first timer if it is due, and returns true then. */
bool agenda_run_timer(uint64_t now_ns);
/* Returns when the first timer is due; UINT64_MAX if none is set. */
uint64_t agenda_due_ns(void);

#endif

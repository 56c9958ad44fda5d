/* SPDX-License-Identifier: Apache-2.0 */
/* What the progress thread has to do: tasks soon, timers (progress_timer_set(), progress_timer_cancel()) when they are due. */
#ifndef SOFTDEV_AGENDA_H
#define SOFTDEV_AGENDA_H

#include "process/progress.h"

/* The tasks; under the lock of the caller. */

/* False if it is queued already. */
bool agenda_add(struct progress_task *task);
void agenda_remove(struct progress_task *task);
/* Takes the oldest; NULL if there is none. */
struct progress_task *agenda_take(void);
unsigned int agenda_tasks(void);

/* The timers; progress thread only. */

/* Runs the first one if it is due. */
bool agenda_run_timer(uint64_t now_ns);
/* When the first one is due; UINT64_MAX: none is set. */
uint64_t agenda_due_ns(void);

#endif

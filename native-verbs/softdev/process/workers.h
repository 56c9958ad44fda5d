/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for what may wait for a disk, which the progress thread must not: each piece of work has one to itself while it
 * waits. There are none until they are needed, and they end when they have had nothing to do for a while.
 */
#ifndef SOFTDEV_WORKERS_H
#define SOFTDEV_WORKERS_H

#include "process/list.h"

#include <stdbool.h>

/* Embedded in its owner; begins as zeros except for callback and owner. */
struct worker_task {
	void (*callback)(void *owner);
	void *owner;
	struct list queued;
};

/*
 * Runs the task on a worker soon. Returns false if there is none and none can be started. The task is not queued already,
 * and its owner lives until the callback has begun. Any thread, any lock held.
 */
bool workers_run(struct worker_task *task);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets READs that are posted one at a time share system calls. While an application posts without looking at the
 * completion queue, its small READs are deferred until a batch is full or the application polls or arms the queue. The
 * progress thread runs what has waited for a millisecond. If the application of a queue pair looks late, because it
 * waits for the bytes themselves or for another queue, its READs are soon no longer deferred, except for an occasional
 * try.
 */
#ifndef SOFTDEV_SQ_DEFER_H
#define SOFTDEV_SQ_DEFER_H

#include "process/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct softdev_cq;
struct softdev_qp;

/* the largest number of READs in one system call */
enum { SQ_BATCH = 64 };

/* Embedded in a queue pair. Guarded by qp->lock unless a comment says otherwise. */
struct sq_defer {
	uint32_t looks;		   /* cq->looks when the last request was posted */
	uint32_t posts;		   /* requests since that look */
	uint32_t rescues;	   /* runs by the progress thread, less looks without one */
	bool rescued;		   /* a run by it since the last look */
	uint32_t exec_at_tick;	   /* sq.exec at the last tick */
	bool waits_at_tick;
	bool watched;		   /* on the list of the tick */
	struct softdev_qp *next_watched;
	struct list listed;	   /* on the list of cq; this and the next: cq->lock */
	unsigned int runners;	   /* threads that took it off the list and run it */
};

/* Returns true if the newest request, which has just been posted, may be deferred. Called with qp->lock held. */
bool sq_may_wait(struct softdev_qp *qp);
/* Runs what is deferred, because the application looks at this queue. Called with no lock held. */
void sq_run_waiting(struct softdev_cq *cq);
/*
 * Takes the queue pair off its lists when no request can be posted any more, before it is freed. Called with no lock
 * held.
 */
void sq_leave_queue(struct softdev_qp *qp);
/* Takes the queue pair off the list of the tick. Progress thread. */
void sq_stop_watching(struct softdev_qp *qp);

#endif

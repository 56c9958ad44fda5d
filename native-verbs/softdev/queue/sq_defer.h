/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs that are posted one by one share system calls too. When an application goes on posting without a look at the
 * completion queue, its small READs wait until there is a full batch or until it does look: it polls or arms the queue.
 * What has waited for a millisecond is run by the progress thread, and a queue pair whose application looks late (it
 * waits for the bytes themselves, or for another queue) is soon not made to wait any more, but for a try now and then.
 */
#ifndef SOFTDEV_SQ_DEFER_H
#define SOFTDEV_SQ_DEFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct softdev_cq;
struct softdev_qp;

/* READs that may share a system call. */
enum { SQ_BATCH = 64 };

/* Of a queue pair; qp->lock but where said otherwise. */
struct sq_defer {
	uint32_t looks;		   /* at the queue, as counted when the last request was posted */
	uint32_t posts;		   /* since then */
	uint32_t rescues;	   /* by the progress thread, less the looks that came without one */
	bool rescued;		   /* since the last look */
	uint32_t exec_at_tick;	   /* where the send queue stood */
	bool waits_at_tick;
	bool watched;		   /* by the tick */
	struct softdev_qp *next_watched;
	bool listed;		   /* cq->lock, as the next two: in the list of its completion queue */
	struct softdev_qp *next_listed;
	unsigned int runners;	   /* who took it off that list and runs it */
};

/* A request was posted: true if it, the newest, may wait. qp->lock held. */
bool sq_may_wait(struct softdev_qp *qp);
/* The application looks at this queue: runs what waits. No lock held. */
void sq_run_waiting(struct softdev_cq *cq);
/* Before the queue pair is freed, and when no request can be posted any more. No lock held. */
void sq_leave_queue(struct softdev_qp *qp);
/* Progress thread: the tick does not know it any more. */
void sq_stop_watching(struct softdev_qp *qp);

#endif

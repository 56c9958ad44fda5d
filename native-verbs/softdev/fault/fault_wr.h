/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a send work request, between the send queue and the rules. */
#ifndef SOFTDEV_FAULT_WR_H
#define SOFTDEV_FAULT_WR_H

#include "fault/fault.h"
#include "queue/qp.h"

/* qp->lock held. Sets wqe->fault; a peer that is to be killed or stopped gets its signal. */
void fault_apply_to_wr(struct softdev_qp *qp, struct wqe *wqe);
/* Damages what a READ brought, just before its completion. */
void fault_spoil_read(const struct wqe *wqe);

/* Once for each request, before it is tried for the first time. */
static inline void fault_start_wr(struct softdev_qp *qp, struct wqe *wqe)
{
	wqe->started = true;
	if (fault_is_on())
		fault_apply_to_wr(qp, wqe);
}

#endif

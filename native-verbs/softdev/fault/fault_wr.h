/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of a send work request, between the send queue and the rules. */
#ifndef SOFTDEV_FAULT_WR_H
#define SOFTDEV_FAULT_WR_H

#include "fault/fault.h"
#include "queue/qp.h"

/* Called with qp->lock held. Sets wqe->fault, and sends the signal to a peer that the fault kills or stops. */
void fault_apply_to_wr(struct softdev_qp *qp, struct wqe *wqe);
/* Damages the bytes of a READ just before its completion. */
void fault_spoil_read(const struct wqe *wqe);

/* Called once for each request, before it is tried for the first time. */
static inline void fault_start_wr(struct softdev_qp *qp, struct wqe *wqe)
{
	wqe->started = true;
	if (fault_is_on())
		fault_apply_to_wr(qp, wqe);
}

#endif

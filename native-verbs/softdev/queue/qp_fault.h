/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of work requests, and async events that are raised on request. */
#ifndef SOFTDEV_QP_FAULT_H
#define SOFTDEV_QP_FAULT_H

#include "fault/fault.h"
#include "queue/qp.h"

/* Called with qp->lock held. Sets wqe->fault, and sends the signal to a peer that the fault kills or stops. */
void fault_apply_to_wr(struct softdev_qp *qp, struct wqe *wqe);
/* Damages the bytes of a READ just before its completion. */
void fault_spoil_read(const struct wqe *wqe);

struct fault_answer;

/*
 * Raises an ibv_event_type on the queue pair (0 = every one of this process), on its queues, or on every open context,
 * depending on the type, and puts queue pairs into the error state as a device does. Any thread, any lock held; the progress
 * thread raises it.
 */
void qp_fault_raise(int event, uint32_t qpn);
/* The command "raise EVENT [qp=N]" (fault_control.h). */
void qp_fault_raise_command(char *text, struct fault_answer *answer);

/* Called once for each request, before it is tried for the first time. */
static inline void fault_start_wr(struct softdev_qp *qp, struct wqe *wqe)
{
	wqe->started = true;
	if (fault_is_on())
		fault_apply_to_wr(qp, wqe);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable connections: a requester without answers. A request is complete when the link has accepted all of it, or
 * when there is no link; in the second case the message is lost, and its sender never learns of that.
 */
#include "queue/send_op.h"
#include "transport/requester_internal.h"

void uc_complete_sent(struct softdev_qp *qp)
{
	while (is_outstanding(qp) && !sq_oldest(qp)->streams && is_sending_state(qp)) {
		requester_count(sq_oldest(qp));
		sq_complete(qp, IBV_WC_SUCCESS);
	}
}

void uc_lose(struct softdev_qp *qp)
{
	struct wqe *wqe;

	while ((wqe = sq_oldest(qp)) && (is_outstanding(qp) || atomic_load(&qp->state) == IBV_QPS_RTS) &&
	       is_sending_state(qp)) {
		if (wqe->op->flags & SEND_OP_LOCAL) { /* it cannot be lost: execution continues there */
			progress_post(&qp->task);
			return;
		}
		if (wqe->refused != IBV_WC_SUCCESS)
			sq_complete(qp, wqe->refused);
		else if (!wqe->inline_data && !requester_list_is_valid(qp, wqe))
			sq_complete(qp, IBV_WC_LOC_PROT_ERR);
		else
			sq_complete(qp, IBV_WC_SUCCESS);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the requester share. Progress thread only, with qp->lock held, unless a comment says otherwise. */
#ifndef SOFTDEV_REQUESTER_INTERNAL_H
#define SOFTDEV_REQUESTER_INTERNAL_H

#include "queue/qp.h"

extern const struct link_ops requester_ops;

/* sq_run.c. Completes the oldest READ, whose bytes have arrived. */
void sq_complete_read(struct softdev_qp *qp);

static inline bool is_sending_state(const struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	return state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

static inline bool is_outstanding(const struct softdev_qp *qp)
{
	return qp->sq.exec != qp->sq.done;
}

void requester_init(struct softdev_qp *qp);
/* These two are called without qp->lock. */
void requester_task(void *qp);
void requester_close(struct softdev_qp *qp);
/* Sends a request; returns false if that is not possible now. */
bool requester_send(struct softdev_qp *qp, struct wqe *wqe);
/* sq_run.c. Implements qp_transport.run; any thread. */
void transport_run(struct softdev_qp *qp);
void transport_run_on_worker(void *qp);
void requester_forget_peer(struct softdev_qp *qp);
void requester_set_timer(struct softdev_qp *qp, uint64_t deadline_ns);
/* The peer is absent or not ready: tries again until the retries are used up. */
void requester_retry_later(struct softdev_qp *qp);
/* The peer of a connection has ended: its requests fail soon. */
void requester_peer_gone(struct softdev_qp *qp);
/* Fails the oldest request, or the queue pair if there is none. */
void requester_fail_oldest(struct softdev_qp *qp, enum ibv_wc_status status);

/* Fails the oldest request if its list could not be read while it was sent. */
void requester_fail_unreadable(struct softdev_qp *qp);

/* Counts a request that was executed over the wire. */
void requester_count(const struct wqe *wqe);
/* Returns true if every region of the list can be read at this moment. */
bool requester_list_is_valid(const struct softdev_qp *qp, const struct wqe *wqe);

/* uc.c. uc_complete_sent() completes what has been sent, uc_lose() all that is posted, because no peer is there. */
void uc_complete_sent(struct softdev_qp *qp);
void uc_lose(struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What requester.c (connection and timers), requester_send.c and requester_answer.c share. Progress thread only,
 * functions with qp->lock held.
 */
#ifndef SOFTDEV_REQUESTER_INTERNAL_H
#define SOFTDEV_REQUESTER_INTERNAL_H

#include "queue/qp.h"

extern const struct link_ops requester_ops;

/* sq_run.c: the oldest READ has brought its bytes. */
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
void requester_task(void *qp);
void requester_close(struct softdev_qp *qp);
/* qp->lock held; false = not now. */
bool requester_send(struct softdev_qp *qp, struct wqe *wqe);
/* sq_run.c: qp_transport.run. */
void transport_run(struct softdev_qp *qp);
void requester_forget_peer(struct softdev_qp *qp);
void requester_set_timer(struct softdev_qp *qp, uint64_t deadline_ns);
/* The peer is not there, or not ready: try again until the retries are used up. */
void requester_retry_later(struct softdev_qp *qp);
/* The peer of a connection has ended: its requests fail soon. qp->lock held. */
void requester_peer_gone(struct softdev_qp *qp);
/* Fails the oldest request, or the queue pair when there is none. */
void requester_fail_oldest(struct softdev_qp *qp, enum ibv_wc_status status);

/* The oldest request, if its list could not be read while it was sent. */
void requester_fail_unreadable(struct softdev_qp *qp);

/* Counts a request that was done over the wire. */
void requester_count(const struct wqe *wqe);
/* May every region of the list be read from, at this moment? */
bool requester_list_is_valid(const struct softdev_qp *qp, const struct wqe *wqe);

/* uc.c. Completes what was sent; or all that is posted, for there is nobody to send it to. */
void uc_complete_sent(struct softdev_qp *qp);
void uc_lose(struct softdev_qp *qp);

#endif

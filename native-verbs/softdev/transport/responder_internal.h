/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the responder share. Progress thread only. */
#ifndef SOFTDEV_RESPONDER_INTERNAL_H
#define SOFTDEV_RESPONDER_INTERNAL_H

#include "queue/qp.h"
#include "queue/wire.h"

/* Is the queue pair in a state in which requests are carried out? */
static inline bool responder_is_ready(const struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/* qp->lock held. Is this request the next one? */
bool responder_expects(struct softdev_qp *qp, const struct frame *frame);
/*
 * Answers with a NAK and goes to the error state. A receive that the request took ends with `own`; an error that
 * belongs to none (IBV_WC_SUCCESS) is told by an async event (InfiniBand specification, 9.9.3.1). Without qp->lock.
 */
void responder_refuse(struct softdev_qp *qp, uint32_t seq, enum ibv_wc_status status, enum ibv_wc_status own);

/* The peer asked whether a key is right, and it is not: counted, once with the request that follows. False: too often, it is gone. */
bool responder_count_question(struct softdev_qp *qp);

/* qp->lock held. May the peer touch these bytes in this way? */
bool responder_allows(const struct softdev_qp *qp, uint32_t rkey, uint64_t address, uint64_t length,
		      unsigned int access);

extern const struct link_ops responder_ops;

void responder_close(struct softdev_qp *qp);

/* responder_read.c, responder_atomic.c, file_share.c */
void responder_read(struct softdev_qp *qp, const struct frame *frame);
void responder_atomic(struct softdev_qp *qp, const struct frame *frame, const void *payload);
void responder_share_file(struct softdev_qp *qp, const struct frame *frame);

#endif

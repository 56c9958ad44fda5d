/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the responder share. Progress thread only. */
#ifndef SOFTDEV_RESPONDER_INTERNAL_H
#define SOFTDEV_RESPONDER_INTERNAL_H

#include "queue/qp.h"
#include "queue/wire.h"

/* Returns true if the state of the queue pair lets it execute requests. */
static inline bool responder_is_ready(const struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/* Returns true if this request is the next one. Called with qp->lock held. */
bool responder_expects(struct softdev_qp *qp, const struct frame *frame);
/*
 * Answers with a NAK and enters the error state. A receive that the request took completes with `own`; an error without
 * a receive (IBV_WC_SUCCESS) raises an async event (InfiniBand specification, 9.9.3.1). Called without qp->lock.
 */
void responder_refuse(struct softdev_qp *qp, uint32_t seq, enum ibv_wc_status status, enum ibv_wc_status own);

/*
 * Counts a wrong key that the peer has asked about; the request that follows is not counted again. Returns false, with
 * the link closed, if the peer has asked too often.
 */
bool responder_count_question(struct softdev_qp *qp);

/* Returns true if the peer may access these bytes in this way. Called with qp->lock held. */
bool responder_allows(const struct softdev_qp *qp, uint32_t rkey, uint64_t address, uint64_t length,
		      unsigned int access);

extern const struct link_ops responder_ops;

void responder_close(struct softdev_qp *qp);

/* In responder_read.c, responder_atomic.c and file_share.c. Called without qp->lock. */
void responder_read(struct softdev_qp *qp, const struct frame *frame);
void responder_atomic(struct softdev_qp *qp, const struct frame *frame, const void *payload);
void responder_share_files(struct softdev_qp *qp, const struct frame *frame, const void *payload);

#endif

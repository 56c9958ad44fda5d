/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives: a work request that waits for a message, in the queue of one QP (rq.c) or shared by many (srq.c). Whoever
 * fills one asks rq_next(), and calls rq_complete() or leaves it to the flush; both work on either queue.
 */
#ifndef SOFTDEV_RQ_H
#define SOFTDEV_RQ_H

#include "device/device.h"
#include "memory/mr.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct softdev_qp;
struct softdev_srq;

struct rqe {
	uint64_t wr_id;
	int num_sge;
	uint64_t length;
	struct ibv_sge *sge;
	/* of a shared queue only */
	struct softdev_srq *srq;
	struct rqe *next;
	struct rqe *made_next, **made_place; /* in the list of all that the queue has made */
};

/* Copies a request into rqe, whose list has room for it. */
void rq_fill(struct rqe *rqe, const struct ibv_recv_wr *wr);

/* qp->lock held for all five. */

/* Returns the receive that the next message fills, the same until it is completed; NULL if there is none. */
struct rqe *rq_next(struct softdev_qp *qp);
/* Returns the protection domain of its list. */
const struct softdev_pd *rq_pd(const struct softdev_qp *qp);
/* Completes the receive that rq_next() has returned; the caller must have called that. */
void rq_complete(struct softdev_qp *qp, const struct ibv_wc *wc, bool solicited);
void rq_flush(struct softdev_qp *qp);
/* Drops the posted receives; a shared receive that was taken goes back. */
void rq_reset(struct softdev_qp *qp);

int qp_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* A shared receive queue. `lock` is taken after qp.lock and cq.lock and guards all but `users`. */
struct softdev_srq {
	struct ibv_srq base;
	struct softdev_pd *pd;
	atomic_int users; /* QPs */

	pthread_mutex_t lock;
	uint32_t max_wr, max_sge;
	uint32_t limit; /* event when fewer are posted; 0 = none is wanted */
	uint32_t posted;
	struct rqe *first, **last; /* posted, oldest first */
	struct rqe *unused;
	struct rqe *made; /* all of them, wherever they are: a fault may drop the completion of one */
	uint32_t allocated, used; /* used: posted, being filled, or completed and not polled */

	struct async_source limit_reached, error;
	uint32_t async_raised;
};

static inline struct softdev_srq *to_srq(struct ibv_srq *srq)
{
	return container_of_(srq, struct softdev_srq, base);
}

void srq_set_ops(struct verbs_context *verbs);
/* Takes the oldest receive out of the queue; NULL if there is none. The caller ends it with one of the two functions below. */
struct rqe *srq_take(struct softdev_srq *srq);
/* Puts a receive back that received nothing; it is the next one again. */
void srq_put_back(struct rqe *rqe);
/* Frees the slot of a receive whose completion was polled, or will never be. A cq.lock may be held. */
void srq_release(struct rqe *rqe);

/* Raises an event; false if it is not one of a shared queue. */
bool srq_raise_type(struct softdev_srq *srq, enum ibv_event_type type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receive requests, in the queue of one QP (rq.c) or in a queue that many share (srq.c). To fill a receive, a transport
 * takes it with rq_next() and ends it with rq_complete(), or leaves it to the flush. Both functions work on either
 * queue.
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
	/* Used by shared queues only. */
	struct softdev_srq *srq;
	struct rqe *next;
};

/* Copies a request to rqe, whose list must have room for it. */
void rq_fill(struct rqe *rqe, const struct ibv_recv_wr *wr);

/* The following five are called with qp->lock held. */

/* Returns the receive that the next message fills, always the same until it is completed; NULL if there is none. */
struct rqe *rq_next(struct softdev_qp *qp);
/* Returns the protection domain of that receive. */
const struct softdev_pd *rq_pd(const struct softdev_qp *qp);
/* Completes the receive that rq_next() has returned. */
void rq_complete(struct softdev_qp *qp, const struct ibv_wc *wc, bool solicited);
void rq_flush(struct softdev_qp *qp);
/* Drops the posted receives and puts back a shared receive that was taken. */
void rq_reset(struct softdev_qp *qp);

int qp_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);

/* A shared receive queue. `lock` guards all fields but `users`, and is taken after qp.lock and cq.lock. */
struct softdev_srq {
	struct ibv_srq base;
	struct softdev_pd *pd;
	atomic_int users; /* QPs */

	pthread_mutex_t lock;
	uint32_t max_wr, max_sge;
	uint32_t limit; /* raise an event below this number of posted receives; 0 = never */
	uint32_t posted;
	struct rqe *first, **last; /* posted, oldest first */
	struct rqe *unused;
	struct srq_block *blocks; /* hold the receives */
	uint32_t allocated, used; /* used: posted, being filled, or completed and not polled */

	struct async_source limit_reached, error;
	uint32_t async_raised;
};

static inline struct softdev_srq *to_srq(struct ibv_srq *srq)
{
	return container_of_(srq, struct softdev_srq, base);
}

void srq_set_ops(struct verbs_context *verbs);
/* Takes the oldest receive; NULL if there is none. The caller ends it with srq_put_back() or srq_release(). */
struct rqe *srq_take(struct softdev_srq *srq);
/* Puts back an unused receive, which becomes the oldest again. */
void srq_put_back(struct rqe *rqe);
/* Frees a receive whose completion has been polled or will never be. The caller may hold cq.lock. */
void srq_release(struct rqe *rqe);

/* Raises an event; returns false if the type is not one of a shared receive queue. */
bool srq_raise_type(struct softdev_srq *srq, enum ibv_event_type type);

#endif

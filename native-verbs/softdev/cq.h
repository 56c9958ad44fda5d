/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues and completion channels. */
#ifndef SOFTDEV_CQ_H
#define SOFTDEV_CQ_H

#include "core.h"
#include "device.h"
#include "event_queue.h"
#include "progress.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct rqe;
struct softdev_qp;

struct cqe {
	struct ibv_wc wc;
	struct softdev_qp *qp;
	uint32_t freed; /* polling this one frees the slots of its queue up to here */
	bool is_send;
	struct rqe *shared_receive; /* of an SRQ: frees this one instead */
};

enum cq_arm { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct softdev_cq {
	struct ibv_cq base;
	pthread_mutex_t lock;
	struct cqe *ring;
	uint32_t capacity, head, count;
	enum cq_arm armed;
	bool overrun;
	atomic_int users; /* QPs, twice if both of their queues complete here */
	struct event_node comp_node;
	uint32_t comp_raised;
	struct async_source error;
	uint32_t async_raised;
	struct progress_task overrun_task;
};

struct softdev_channel {
	struct ibv_comp_channel base;
	struct event_queue queue;
	atomic_int users;
	uint32_t handle;
};

static inline struct softdev_cq *to_cq(struct ibv_cq *cq)
{
	return container_of_(cq, struct softdev_cq, base);
}

/* Adds a completion; the caller may hold qp->lock. On overrun the CQ and, soon, its QPs fail. */
void cq_push(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* The same past the fault points. */
void cq_push_now(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* As if it were full: the error event, and the QPs fail soon. */
void cq_fail(struct softdev_cq *cq);
/* Removes the completions of a QP that is reset or destroyed. */
void cq_purge(struct softdev_cq *cq, const struct softdev_qp *qp);
void cq_ack_async(struct ibv_cq *cq);

#endif

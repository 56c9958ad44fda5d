/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues and completion channels. */
#ifndef SOFTDEV_CQ_H
#define SOFTDEV_CQ_H

#include "core.h"
#include "device/device.h"
#include "memory/pd.h"
#include "process/event_queue.h"
#include "process/progress.h"

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
	uint64_t device_ns, wall_ns; /* when it was added, if the queue takes the time */
};

enum cq_arm { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct softdev_cq {
	union {
		struct ibv_cq base;
		struct ibv_cq_ex ex; /* of ibv_create_cq_ex: begins like the other and goes on */
	};
	pthread_mutex_t lock;
	struct cqe *ring;
	struct pd_memory memory; /* the ring's */
	uint32_t capacity, head, count;
	enum cq_arm armed;
	bool overrun, ignores_overrun, takes_time, single_threaded;
	_Atomic uint32_t looks;	    /* of the application at it, for sq_defer.c, as the next one */
	uint32_t empty_looks;	    /* in a row */
	struct softdev_qp *waiting; /* queue pairs with READs that are run at the next look */
	atomic_int users; /* QPs, twice if both of their queues complete here */
	struct event_node comp_node;
	uint32_t comp_raised;
	struct async_source error;
	uint32_t async_raised;
	struct progress_task overrun_task;
	/* From start_poll to end_poll; taken before every other lock. */
	pthread_mutex_t poll_lock;
	struct cqe current;
	struct softdev_pd *parent_domain; /* or NULL */
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

static inline struct softdev_channel *to_channel(struct ibv_comp_channel *channel)
{
	return container_of_(channel, struct softdev_channel, base);
}

void cq_set_ops(struct verbs_context *verbs);
/* The attributes beyond those of ibv_create_cq are the caller's to look at. NULL + errno. */
struct softdev_cq *cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr);
/* The operation of verbs_context. */
struct ibv_cq_ex *cq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
/* Removes the oldest completion and frees the slots of its queue. False if there is none. */
bool cq_take(struct softdev_cq *cq, struct cqe *entry);
/* Adds a completion; the caller may hold qp->lock. On overrun the CQ and, soon, its QPs fail. */
void cq_push(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* The same past the fault points. */
void cq_push_now(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* As if it were full: the error event, and the QPs fail soon. */
void cq_fail(struct softdev_cq *cq);
/* Removes the completions of a QP that is reset or destroyed. */
void cq_purge(struct softdev_cq *cq, const struct softdev_qp *qp);

#endif

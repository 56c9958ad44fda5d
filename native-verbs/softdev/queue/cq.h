/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues and completion channels. */
#ifndef SOFTDEV_CQ_H
#define SOFTDEV_CQ_H

#include "core.h"
#include "device/device.h"
#include "memory/pd.h"
#include "process/event_queue.h"
#include "process/list.h"
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
	uint32_t freed; /* polling this completion frees the slots of its work queue up to here */
	bool is_send;
	struct rqe *shared_receive; /* of an SRQ: polling frees this receive instead */
	uint64_t device_ns, wall_ns; /* when the completion was added, if takes_time is set */
};

enum cq_arm { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct softdev_cq {
	union {
		struct ibv_cq base;
		struct ibv_cq_ex ex; /* of ibv_create_cq_ex; begins with the fields of ibv_cq */
	};
	pthread_mutex_t lock;
	struct cqe *ring;
	struct pd_memory memory; /* holds the ring */
	uint32_t capacity, head, count;
	enum cq_arm armed;
	bool overrun, ignores_overrun, takes_time, single_threaded;
	uint32_t empty_looks; /* consecutive looks that found nothing */
	atomic_int users; /* QPs; counted twice if both of a QP's queues complete here */
	struct event_node comp_node;
	uint32_t comp_raised;
	struct async_source error;
	uint32_t async_raised;
	struct progress_task overrun_task;
	/* Held from start_poll to end_poll; taken before every other lock. */
	pthread_mutex_t poll_lock;
	struct cqe current;
	struct softdev_pd *parent_domain; /* NULL if the queue has none */
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
/* Creates a queue; the caller checks the attributes that ibv_create_cq() does not have. NULL and errno on failure. */
struct softdev_cq *cq_create(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr);
/* Implements ibv_create_cq_ex(). */
struct ibv_cq_ex *cq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
/* Moves the oldest completion to *entry and frees the slots of its work queue. Returns false if there is none. */
bool cq_take(struct softdev_cq *cq, struct cqe *entry);
/* Adds a completion; the caller may hold qp->lock. On overrun the queue fails at once and its QPs soon after. */
void cq_push(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* As cq_push(), without asking the faults. */
void cq_push_now(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* As cq_push_now(), with cq->lock held. */
void cq_add(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* Acts as if the queue had overrun: raises the error event, and its QPs fail soon. */
void cq_fail(struct softdev_cq *cq);
/* Removes the completions of a QP that is being reset or destroyed. */
void cq_purge(struct softdev_cq *cq, const struct softdev_qp *qp);

#endif

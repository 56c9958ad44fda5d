/* SPDX-License-Identifier: Apache-2.0 */
/* The device, its contexts and their async events. */
#ifndef SOFTDEV_DEVICE_H
#define SOFTDEV_DEVICE_H

#include "core.h"
#include "engine.h"
#include "process/event_queue.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>

enum {
	DEVICE_PORTS = 1,
	DEVICE_MAX_QP = 4096,
	DEVICE_MAX_WR = 16384,
	DEVICE_MAX_SGE = 16,
	DEVICE_MAX_SRQ_WR = 16384,
	DEVICE_MIN_INLINE = 64, /* granted to every queue pair, as by hardware, because rdma_xclient relies on it */
	DEVICE_MAX_INLINE = 512,
	DEVICE_MAX_CQE = 1048575,
	DEVICE_MAX_MR = 65535,
	DEVICE_MAX_RD_ATOMIC = 16,
	DEVICE_COMP_VECTORS = 8,
	DEVICE_MAX_GROUPS = 1024, /* of multicast */
};

#define DEVICE_MTU IBV_MTU_4096
#define DEVICE_MAX_MESSAGE (1u << 30)
#define DEVICE_MAX_MR_BYTES (1ull << 47)

/* A context outlives its close while objects of it exist. The release of the last one frees it. */
void context_hold(struct ibv_context *context);
void context_release(struct ibv_context *context);

/* One kind of async event of one object, embedded in it. */
struct async_source {
	struct event_node node;
	struct ibv_async_event event;
};

enum { DEVICE_EVENTS = 8 };

struct softdev_context {
	struct engine *engine; /* the engine that made it */
	struct event_queue async;
	struct async_source events[DEVICE_EVENTS]; /* of the device and its port, see device_events.c */
	atomic_int users; /* PDs, TDs, CQs and channels, and the program that opened it */
	uint32_t handle;
	struct verbs_context verbs; /* its last member is the ibv_context */
};

static inline struct softdev_context *to_context(struct ibv_context *context)
{
	return container_of_(context, struct softdev_context, verbs.context);
}

/* Returns true if the context belongs to a parent of this process: every call on it answers EIO. */
static inline bool is_inherited(struct ibv_context *context)
{
	return !engine || (engine->inherited && to_context(context)->engine != engine);
}

void async_raise(struct ibv_context *context, struct async_source *source);
/* Takes the undelivered events back; returns their number. */
unsigned int async_withdraw(struct ibv_context *context, struct async_source *source);
/* Counts events that the application has acknowledged; `mutex` guards their count. */
void async_count_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acknowledged, uint32_t count);
/* Waits until the application has acknowledged all events that were raised. */
void async_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acknowledged, uint32_t raised);

void device_events_init(struct softdev_context *context);
/* Raises an event of the device or its port on every open context; returns on how many. Other events are on none. */
unsigned int device_raise(enum ibv_event_type type);

/* Each function fills the operations of its objects in a new context; parts.c names them. Ends with NULL. */
extern void (*const device_operations[])(struct verbs_context *verbs);
void query_set_ops(struct verbs_context *verbs);

#endif

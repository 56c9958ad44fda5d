/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains, thread domains, and the parent domains that hold one of each. */
#ifndef SOFTDEV_PD_H
#define SOFTDEV_PD_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct softdev_td {
	struct ibv_td base;
	uint32_t handle;
	atomic_int users; /* parent domains */
};

struct softdev_pd {
	struct ibv_pd base;
	struct ibv_context *context; /* a copy, because the application may change `base` */
	uint32_t id;		   /* peers see it; a parent domain has the id of its protection domain */
	atomic_int users;	   /* regions, windows, queues, address handles, parent domains */
	struct softdev_pd *parent; /* the protection domain of a parent domain, else NULL */
	struct softdev_td *td;	   /* the thread domain of a parent domain, or NULL */
	void *(*allocate)(struct ibv_pd *pd, void *context, size_t size, size_t alignment, uint64_t resource);
	void (*release)(struct ibv_pd *pd, void *context, void *memory, uint64_t resource);
	void *allocator_context;
};

/* The kind of resource, for the allocator of a parent domain. */
enum pd_resource { PD_RESOURCE_QP = 1, PD_RESOURCE_CQ };

/* Memory of an object, from the allocator of its parent domain if that has one. */
struct pd_memory {
	void *address;
	struct softdev_pd *owner; /* NULL: from calloc */
	enum pd_resource resource;
};

static inline struct softdev_pd *to_pd(struct ibv_pd *pd)
{
	return (struct softdev_pd *)((char *)pd - offsetof(struct softdev_pd, base));
}

/* Returns true if objects of the one may be used with objects of the other. */
static inline bool pd_same(const struct softdev_pd *one, const struct softdev_pd *other)
{
	return one->id == other->id;
}

void pd_set_ops(struct verbs_context *verbs);
bool pd_is_parent_domain(struct ibv_pd *pd);

/* Allocates zeroed memory, even for size 0; pd may be NULL. Returns memory->address, NULL only if memory is short. */
void *pd_allocate(struct softdev_pd *pd, enum pd_resource resource, size_t size, struct pd_memory *memory);
void pd_release(struct pd_memory *memory);

#endif

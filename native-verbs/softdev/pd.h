/* SPDX-License-Identifier: Apache-2.0 */
/* Protection domains, thread domains, and the parent domains that hold one of each. */
#ifndef SOFTDEV_PD_H
#define SOFTDEV_PD_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct softdev_td {
	struct ibv_td base;
	uint32_t handle;
	atomic_int users; /* parent domains */
};

struct softdev_pd {
	struct ibv_pd base;
	uint32_t id;		   /* as peers see it; a parent domain has that of its protection domain */
	atomic_int users;	   /* regions, windows, queues, address handles, parent domains */
	struct softdev_pd *parent; /* of a parent domain: its protection domain */
	struct softdev_td *td;	   /* and its thread domain, or NULL */
};

static inline struct softdev_pd *to_pd(struct ibv_pd *pd)
{
	return (struct softdev_pd *)((char *)pd - offsetof(struct softdev_pd, base));
}

/* May objects of the one be used with objects of the other? */
static inline bool pd_same(const struct softdev_pd *one, const struct softdev_pd *other)
{
	return one->id == other->id;
}

bool pd_is_parent_domain(struct ibv_pd *pd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Address handles: the destinations of datagrams. */
#ifndef SOFTDEV_AH_H
#define SOFTDEV_AH_H

#include "core.h"
#include "memory/mr.h"

#include <infiniband/verbs.h>
#include <stdbool.h>

/* The address of a datagram. A send queue keeps a copy, so a handle may be destroyed once its request is posted. */
struct ud_route {
	union ibv_gid source, destination;
	uint32_t flow_label;
	uint8_t traffic_class, hop_limit;
	bool v1;	/* RoCE v1; tells what the network header looks like */
	bool local;	/* an address of this host */
	bool group;	/* a multicast group */
};

struct softdev_ah {
	struct ibv_ah base;
	struct softdev_pd *pd;
	struct ud_route route;
};

static inline struct softdev_ah *to_ah(struct ibv_ah *ah)
{
	return container_of_(ah, struct softdev_ah, base);
}

/* Returns NULL if the handle is not valid, or belongs to another protection domain. */
const struct ud_route *ah_route(struct ibv_ah *ah, const struct softdev_pd *pd);

#endif

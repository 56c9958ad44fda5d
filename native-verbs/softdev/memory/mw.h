/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows: a window has a key of its own to a part of a region. A window of type 1 may be used through every
 * queue pair of its domain, one of type 2 through the queue pair that bound it (type 2B), until that queue pair is
 * reset. A bound window is in the table of keys as a region is.
 */
#ifndef SOFTDEV_MW_H
#define SOFTDEV_MW_H

#include "memory/mr.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* A bind request, stored in the inline room of its slot. */
struct mw_bind_request {
	struct softdev_mw *mw;
	uint32_t mw_slot, rkey;
	struct softdev_mr *region; /* NULL: unbind */
	uint64_t address, length;
	uint32_t region_slot, access;
};

/*
 * Stores the request. Afterwards window and region are only found by their slots, because the application may free them.
 * 0 or a positive errno.
 */
int mw_take_request(struct mw_bind_request *request, const struct ibv_send_wr *wr);

/*
 * Executes a request of the queue pair of this domain and generation, and returns its status. Progress thread only,
 * because no copy through a window is then under way.
 */
enum ibv_wc_status mw_bind(const struct softdev_pd *pd, uint64_t qp, const struct mw_bind_request *request);
/* Invalidates the window of type 2 that this queue pair has bound; returns false if none of its windows has the key. */
bool mw_invalidate(uint64_t qp, uint32_t rkey);

/* Sets the operations of memory windows except bind_mw, which posts to a queue pair (queue/sq.c). */
void mw_set_ops(struct verbs_context *verbs);

#endif

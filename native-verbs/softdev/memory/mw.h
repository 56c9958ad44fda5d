/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory windows: a key of its own to a part of a region. One of type 1 may be used through every queue pair of its
 * domain, one of type 2 through the queue pair that bound it (type 2B), until that is reset. While bound it stands in
 * the table of keys as a region does.
 */
#ifndef SOFTDEV_MW_H
#define SOFTDEV_MW_H

#include "memory/mr.h"

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* What a bind request keeps in the inline room of its slot. */
struct mw_bind_request {
	struct softdev_mw *mw;
	uint32_t mw_slot, rkey;
	struct softdev_mr *region; /* NULL: unbind */
	uint64_t address, length;
	uint32_t region_slot, access;
};

/* Without either object being looked at afterwards but by its slot. 0 or a positive errno. */
int mw_take_request(struct mw_bind_request *request, const struct ibv_send_wr *wr);

/*
 * For the queue pair of this domain and generation; progress thread: nobody copies through a window. The status of the
 * request.
 */
enum ibv_wc_status mw_bind(const struct softdev_pd *pd, uint64_t qp, const struct mw_bind_request *request);
/* Takes the access of a window of type 2 away that this queue pair has bound. False if there is none of that key. */
bool mw_invalidate(uint64_t qp, uint32_t rkey);

/* The operations of verbs_context but for bind_mw, which posts to a queue pair (queue/sq.c). */
void mw_set_ops(struct verbs_context *verbs);

#endif

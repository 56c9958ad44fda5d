/* SPDX-License-Identifier: Apache-2.0 */
/* Memory regions. */
#ifndef SOFTDEV_MR_H
#define SOFTDEV_MR_H

#include "core.h"
#include "memory/pd.h"

#include <infiniband/verbs.h>
#include <stdatomic.h>

struct softdev_mr {
	struct ibv_mr base;
	struct softdev_pd *pd;
	uint64_t iova;
	uint64_t length;
	char *address;
	unsigned int access;
	int file_fd; /* read-only descriptor of the file behind a file region, else -1 */
	uint64_t file_offset;
	bool hides_residency; /* of a file of another user: mincore() says of all of it that it is in memory */
	uint64_t generation; /* in the table that peers see */
	atomic_bool file_shared;
	uint32_t windows;   /* number of windows bound to it */
	uint64_t bound_qp;  /* generation of the only queue pair that may use it; 0 = every one of the domain */
};

enum {
	MR_ACCESS_FLAGS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
			  IBV_ACCESS_HUGETLB | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_OPTIONAL_RANGE,
};

enum key_kind { KEY_LOCAL, KEY_REMOTE };

/*
 * Finds the region of a key and holds it: ibv_dereg_mr() waits until mr_release(). The caller holds it for one bounded
 * copy, never across a wait. Checks PD, bounds and access. Returns 0, or -EACCES for every mistake. Any thread.
 */
int mr_acquire(const struct softdev_pd *pd, enum key_kind kind, uint32_t key, uint64_t address,
	       uint64_t length, unsigned int access, struct softdev_mr **mr);
/* Like mr_acquire(), for a key that a peer sent to the queue pair of this generation. */
int mr_acquire_for(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t address, uint64_t length,
		   unsigned int access, struct softdev_mr **mr);
void mr_release(struct softdev_mr *mr);

/* Makes the checks of mr_acquire() for a region that is held already. */
static inline bool mr_permits(const struct softdev_mr *mr, const struct softdev_pd *pd, enum key_kind kind,
			      uint32_t key, uint64_t address, uint64_t length, unsigned int access)
{
	return key == (kind == KEY_LOCAL ? mr->base.lkey : mr->base.rkey) && pd_same(mr->pd, pd) &&
	       (mr->access & access) == access && address >= mr->iova && length <= mr->length &&
	       address - mr->iova <= mr->length - length;
}

/* Called on any thread when a region ends whose descriptor peers have; parts.c names the function. */
extern void (*const mr_file_revoked)(void);
/*
 * Returns 0 if the key opens this generation of a region to READs of the queue pair of that generation; *fd is then a
 * duplicate of the read-only descriptor behind the region, or -1 if there is none. Returns -ESTALE if the generation of
 * the region is over, and -EACCES if the key does not open it.
 */
int mr_share_file(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t generation, int *fd);

/* Converts an iova-based address to an address of this process. */
static inline char *mr_pointer(const struct softdev_mr *mr, uint64_t address)
{
	return mr->address + (address - mr->iova);
}

/* Sets the operation of verbs_context that advice.c implements. */
void advice_set_ops(struct verbs_context *verbs);

#endif

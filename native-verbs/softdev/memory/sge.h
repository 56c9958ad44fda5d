/* SPDX-License-Identifier: Apache-2.0 */
/* Scatter/gather lists: finds the memory of a part of a message, and holds its regions while that is accessed. */
#ifndef SOFTDEV_SGE_H
#define SOFTDEV_SGE_H

#include "memory/mr.h"

#include <sys/uio.h>

enum { SGE_MAX = 16, SGE_SLICE_BYTES = 1 << 20 };

/* The regions held for one slice. */
struct sge_hold {
	struct softdev_mr *mr[SGE_MAX];
	int count;
};

/*
 * Maps a message of `length` bytes from `offset` on, at most SGE_SLICE_BYTES, into iov and holds the regions of its list
 * until sge_release(). Entries of the list that the message does not need are not checked. Returns the number of iovs (0
 * at the end of the list), or -EACCES with nothing held.
 */
int sge_hold_slice(const struct softdev_pd *pd, const struct ibv_sge *sge, int num_sge, uint64_t offset,
		   uint64_t length, unsigned int access, struct iovec *iov, int max_iov, struct sge_hold *hold);
void sge_release(struct sge_hold *hold);

/* As sge_hold_slice(), for a region of this process that the peer of a queue pair addresses. */
int sge_hold_remote(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t address,
		    uint64_t length, unsigned int access, struct iovec *iov, struct sge_hold *hold);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/sge.h"

#include <errno.h>

int sge_hold_slice(const struct softdev_pd *pd, const struct ibv_sge *sge, int num_sge, uint64_t offset,
		   uint64_t length, unsigned int access, struct iovec *iov, int max_iov, struct sge_hold *hold)
{
	uint64_t room = SGE_SLICE_BYTES, start = 0, end; /* of the entry, in the message */
	int count = 0;

	hold->count = 0;
	for (int i = 0; i < num_sge && room && count < max_iov; i++, start = end) {
		uint64_t bytes = sge[i].length < length - start ? sge[i].length : length - start, from;
		struct softdev_mr *mr;

		end = start + bytes;
		if (offset >= end)
			continue;
		if (mr_acquire(pd, KEY_LOCAL, sge[i].lkey, sge[i].addr, bytes, access, &mr)) {
			sge_release(hold);
			return -EACCES;
		}
		hold->mr[hold->count++] = mr;
		from = offset > start ? offset - start : 0;
		bytes = bytes - from < room ? bytes - from : room;
		iov[count++] = (struct iovec){mr_pointer(mr, sge[i].addr + from), bytes};
		room -= bytes;
	}
	return count;
}

int sge_hold_remote(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t address,
		    uint64_t length, unsigned int access, struct iovec *iov, struct sge_hold *hold)
{
	hold->count = 0;
	if (length > SGE_SLICE_BYTES)
		length = SGE_SLICE_BYTES;
	if (mr_acquire_for(pd, qp, rkey, address, length, access, &hold->mr[0]))
		return -EACCES;
	hold->count = 1;
	iov[0] = (struct iovec){mr_pointer(hold->mr[0], address), length};
	return 1;
}

void sge_release(struct sge_hold *hold)
{
	while (hold->count)
		mr_release(hold->mr[--hold->count]);
}

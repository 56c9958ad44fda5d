/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements ibv_advise_mr(). On-demand regions need no help of the device, because the kernel makes its copies and
 * handles page faults; the kernel prefetches, too.
 */
#define _GNU_SOURCE
#include "device/device.h"
#include "memory/mr.h"
#include "memory/mr_table.h"
#include "process/handle.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ /* Linux 5.14 */
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Returns 0 or EFAULT. What the kernel cannot fetch now it fetches at the first access. */
static int fetch_pages(const struct softdev_mr *mr, const struct ibv_sge *sge, int advice)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from = (uintptr_t)mr_pointer(mr, sge->addr);
	uintptr_t start = from & ~(page - 1), end = (from + sge->length + page - 1) & ~(page - 1);

	if (!sge->length || !madvise((void *)start, end - start, advice))
		return 0;
	return errno == ENOMEM || errno == EFAULT ? EFAULT : 0;
}

static int advise_one(const struct softdev_mr *mr, const struct softdev_pd *pd, enum ib_uverbs_advise_mr_advice advice,
		      bool now, const struct ibv_sge *sge)
{
	bool to_write = advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_WRITE;

	if (mr->base.lkey != sge->lkey)
		return ENOENT;
	if (!(mr->access & IBV_ACCESS_ON_DEMAND))
		return EINVAL;
	if (!pd_same(mr->pd, pd) || (to_write && !(mr->access & IBV_ACCESS_LOCAL_WRITE)))
		return EPERM;
	if (!mr_permits(mr, pd, KEY_LOCAL, sge->lkey, sge->addr, sge->length, 0))
		return EFAULT;
	if (advice == IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	if (!now)
		return fetch_pages(mr, sge, MADV_WILLNEED);
	return fetch_pages(mr, sge, to_write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

static int advise_mr(struct ibv_pd *pd, enum ib_uverbs_advise_mr_advice advice, uint32_t flags,
		     struct ibv_sge *list, uint32_t count)
{
	int error = 0;

	if (is_inherited(pd->context))
		return EIO;
	if (!handle_is(HANDLE_PD, pd->handle, pd) || flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return EINVAL;
	if ((unsigned int)advice > IB_UVERBS_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return ENOTSUP;
	for (uint32_t i = 0; i < count && !error; i++) {
		struct softdev_mr *mr = mr_table_hold(list[i].lkey);

		if (!mr)
			return ENOENT;
		error = advise_one(mr, to_pd(pd), advice, flags & IBV_ADVISE_MR_FLAG_FLUSH, &list[i]);
		mr_release(mr);
	}
	return error;
}

void advice_set_ops(struct verbs_context *verbs)
{
	verbs->advise_mr = advise_mr;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/mw.h"

#include "device/device.h"
#include "engine.h"
#include "fault/fault.h"
#include "lock.h"
#include "memory/mr_table.h"
#include "memory/peer_table.h"
#include "process/counters.h"
#include "process/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW_RIGHTS = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	CHANGING_RIGHTS = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
};

#define KEY_OF_CONSUMER 0xffu

struct softdev_mw {
	struct ibv_mw base;
	struct softdev_mr key;	   /* the bytes that its key opens, visible while it is bound */
	struct softdev_mr *region; /* the region that it is bound to, or NULL; guarded by `lock` */
};

struct mw_state {
	pthread_mutex_t lock;
};

ENGINE_PART(mw, NULL);

static struct softdev_mw *to_mw(struct ibv_mw *mw)
{
	return container_of_(mw, struct softdev_mw, base);
}

static struct ibv_mw *alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	int error = is_inherited(pd->context) ? EIO : 0;
	struct softdev_mw *mw;

	if (!error && ((type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) || !handle_is(HANDLE_PD, pd->handle, to_pd(pd))))
		error = EINVAL;
	if (!error)
		error = fault_call(FAULT_ALLOC_MW);
	if (!error && !own_table())
		error = errno;
	if (error)
		return null_with(error);
	mw = calloc(1, sizeof(*mw));
	if (!mw)
		return NULL;
	mw->key.pd = to_pd(pd);
	mw->key.file_fd = -1;
	error = mr_table_add(&mw->key);
	if (error) {
		free(mw);
		return null_with(error);
	}
	mw->key.base.lkey = 0; /* no scatter/gather list may name a window */
	mw->base = (struct ibv_mw){.context = pd->context,
				   .pd = pd,
				   .rkey = mw->key.base.rkey,
				   .handle = mw->key.base.handle,
				   .type = type};
	atomic_fetch_add(&mw->key.pd->users, 1);
	COUNT(mw_live);
	return &mw->base;
}

/* Called with the lock held. */
static void unbind(struct softdev_mw *mw)
{
	if (!mw->region)
		return;
	while (mr_table_hide(&mw->key) == EAGAIN)
		;
	mr_table_unbind(mw->region);
	mw->region = NULL;
}

static int dealloc_mw(struct ibv_mw *base)
{
	struct softdev_mw *mw = to_mw(base);

	if (is_inherited(base->context))
		return EIO;
	if (!mr_table_has(base->handle, &mw->key))
		return ENOENT;
	pthread_mutex_lock(&engine->mw->lock);
	unbind(mw);
	mr_table_remove(&mw->key);
	pthread_mutex_unlock(&engine->mw->lock);
	atomic_fetch_sub(&mw->key.pd->users, 1);
	COUNT_DOWN(mw_live);
	free(mw);
	return 0;
}

int mw_take_request(struct mw_bind_request *request, const struct ibv_send_wr *wr)
{
	const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
	struct softdev_mw *mw = wr->bind_mw.mw ? to_mw(wr->bind_mw.mw) : NULL;

	if (!mw || (!info->mr && info->length))
		return EINVAL;
	*request = (struct mw_bind_request){
		.mw = mw,
		.mw_slot = mw->base.handle,
		.rkey = wr->bind_mw.rkey,
		.region = info->mr && info->length ? container_of_(info->mr, struct softdev_mr, base) : NULL,
		.address = info->addr,
		.length = info->length,
		.access = info->mw_access_flags,
	};
	if (request->region)
		request->region_slot = info->mr->handle;
	return 0;
}

/* Returns true if this window may be bound in this way to any region. Called with the lock held. */
static bool window_permits(const struct softdev_pd *pd, const struct mw_bind_request *request)
{
	const struct softdev_mw *mw = request->mw;
	bool is_type_2;

	if (!mr_table_has(request->mw_slot, &mw->key))
		return false;
	is_type_2 = mw->base.type == IBV_MW_TYPE_2;
	if (!pd_same(mw->key.pd, pd))
		return false;
	if (is_type_2 && (mw->region || !request->region))
		return false;
	/* A window serves the other end only. Programs pass LOCAL_WRITE, which means nothing here. */
	return !(request->access & ~(unsigned int)(WINDOW_RIGHTS | IBV_ACCESS_LOCAL_WRITE |
						   (is_type_2 ? IBV_ACCESS_ZERO_BASED : 0)));
}

/* Called with the lock held and a window counted on the region, which keeps it. */
static bool region_permits(const struct softdev_mr *region, const struct softdev_pd *pd,
			   const struct mw_bind_request *request)
{
	return pd_same(region->pd, pd) && (region->access & IBV_ACCESS_MW_BIND) &&
	       !(region->access & IBV_ACCESS_ZERO_BASED) &&
	       (!(request->access & CHANGING_RIGHTS) || (region->access & IBV_ACCESS_LOCAL_WRITE)) &&
	       request->address >= region->iova && request->length <= region->length &&
	       request->address - region->iova <= region->length - request->length;
}

/* Called with the lock held. */
static void show(struct softdev_mw *mw, uint64_t qp, const struct mw_bind_request *request)
{
	mw->region = request->region;
	mw->key.iova = request->access & IBV_ACCESS_ZERO_BASED ? 0 : request->address;
	mw->key.length = request->length;
	mw->key.address = mr_pointer(request->region, request->address);
	mw->key.access = request->access & WINDOW_RIGHTS;
	mw->key.hides_residency = request->region->hides_residency;
	mw->key.bound_qp = mw->base.type == IBV_MW_TYPE_2 ? qp : 0;
	mr_table_show(&mw->key);
}

enum ibv_wc_status mw_bind(const struct softdev_pd *pd, uint64_t qp, const struct mw_bind_request *request)
{
	HOLD_LOCK(&engine->mw->lock);
	if (!window_permits(pd, request))
		return IBV_WC_MW_BIND_ERR;
	if (request->region) {
		if (!mr_table_bind(request->region_slot, request->region))
			return IBV_WC_MW_BIND_ERR;
		if (!region_permits(request->region, pd, request)) {
			mr_table_unbind(request->region);
			return IBV_WC_MW_BIND_ERR;
		}
	}
	unbind(request->mw);
	/* IBA 10.6.7.2.2: the consumer owns the low 8 bits of the key, the adapter the index above them. */
	request->mw->key.base.rkey = (request->mw->key.base.rkey & ~KEY_OF_CONSUMER) | (request->rkey & KEY_OF_CONSUMER);
	/* ibv_bind_mw() has written the key of a window of type 1, and the application may be reading it. */
	if (request->mw->base.type == IBV_MW_TYPE_2)
		request->mw->base.rkey = request->mw->key.base.rkey;
	if (request->region)
		show(request->mw, qp, request);
	return IBV_WC_SUCCESS;
}

bool mw_invalidate(uint64_t qp, uint32_t rkey)
{
	HOLD_LOCK(&engine->mw->lock);
	struct softdev_mr *key = mr_table_hold(rkey);
	bool found;

	if (!key)
		return false;
	found = key->base.rkey == rkey && key->bound_qp && key->bound_qp == qp;
	mr_release(key);
	if (found)
		unbind(container_of_(key, struct softdev_mw, key));
	return found;
}

void mw_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.alloc_mw = alloc_mw;
	verbs->context.ops.dealloc_mw = dealloc_mw;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/pd.h"

#include "device/device.h"
#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "process/counters.h"
#include "process/handle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

struct pd_state {
	_Atomic uint32_t last_id;
};

ENGINE_PART(pd, NULL);

/* Returns NULL and sets errno on failure. */
static struct softdev_pd *create(struct ibv_context *context)
{
	struct softdev_pd *pd;
	uint32_t handle;
	int error = is_inherited(context) ? EIO : fault_call(FAULT_ALLOC_PD);

	if (error)
		return null_with(error);
	pd = handle_new(HANDLE_PD, sizeof(*pd), &handle);
	if (!pd)
		return NULL;
	pd->base.context = pd->context = context;
	pd->base.handle = handle;
	context_hold(context);
	COUNT(pd_live);
	COUNT(pd_ever);
	return pd;
}

struct ibv_pd *softverbs_ibv_alloc_pd(struct ibv_context *context)
{
	struct softdev_pd *pd = create(context);

	if (!pd)
		return NULL;
	pd->id = atomic_fetch_add(&engine->pd->last_id, 1) + 1;
	return &pd->base;
}

int softverbs_ibv_dealloc_pd(struct ibv_pd *base)
{
	struct softdev_pd *pd = to_pd(base);
	int error;

	if (is_inherited(base->context))
		return EIO;
	if (base->context != pd->context)
		return errno = ENOENT;
	error = handle_remove(HANDLE_PD, base->handle, pd, &pd->users);
	if (error)
		return error;
	if (pd->parent)
		atomic_fetch_sub(&pd->parent->users, 1);
	if (pd->td)
		atomic_fetch_sub(&pd->td->users, 1);
	context_release(pd->context);
	COUNT_DOWN(pd_live);
	free(pd);
	return 0;
}

bool pd_is_parent_domain(struct ibv_pd *pd)
{
	return pd && handle_is(HANDLE_PD, pd->handle, pd) && to_pd(pd)->parent;
}

static struct softdev_td *to_td(struct ibv_td *td)
{
	return container_of_(td, struct softdev_td, base);
}

static bool is_td(struct ibv_td *td)
{
	return handle_is(HANDLE_TD, to_td(td)->handle, to_td(td));
}

/* Objects of a thread domain keep their locks, because the progress thread uses them too. */
static struct ibv_td *alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	struct softdev_td *td;
	uint32_t handle;
	int error = is_inherited(context) ? EIO : attr->comp_mask ? EINVAL : 0;

	if (error)
		return null_with(error);
	td = handle_new(HANDLE_TD, sizeof(*td), &handle);
	if (!td)
		return NULL;
	td->handle = handle;
	td->base.context = context;
	context_hold(context);
	return &td->base;
}

static int dealloc_td(struct ibv_td *base)
{
	struct softdev_td *td = to_td(base);
	int error = is_inherited(base->context) ? EIO : handle_remove(HANDLE_TD, td->handle, td, &td->users);

	if (error)
		return error;
	context_release(base->context);
	free(td);
	return 0;
}

static int check_parent_domain(const struct ibv_parent_domain_init_attr *attr)
{
	enum {
		KNOWN = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
	};

	if (attr->comp_mask & ~(uint32_t)KNOWN || !attr->pd || !handle_is(HANDLE_PD, attr->pd->handle, attr->pd))
		return EINVAL;
	if (to_pd(attr->pd)->parent || (attr->td && !is_td(attr->td)))
		return EINVAL;
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS && (!attr->alloc || !attr->free))
		return EINVAL;
	return 0;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	struct softdev_pd *pd;
	int error = is_inherited(context) ? EIO : check_parent_domain(attr);

	if (error)
		return null_with(error);
	pd = create(context);
	if (!pd)
		return NULL;
	pd->parent = to_pd(attr->pd);
	pd->id = pd->parent->id;
	atomic_fetch_add(&pd->parent->users, 1);
	if (attr->td) {
		pd->td = to_td(attr->td);
		atomic_fetch_add(&pd->td->users, 1);
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) {
		pd->allocate = attr->alloc;
		pd->release = attr->free;
	}
	if (attr->comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)
		pd->allocator_context = attr->pd_context;
	return &pd->base;
}

void *pd_allocate(struct softdev_pd *pd, enum pd_resource resource, size_t size, struct pd_memory *memory)
{
	void *address = IBV_ALLOCATOR_USE_DEFAULT;

	if (!size)
		size = 1;
	if (pd && pd->allocate)
		address = pd->allocate(&pd->base, pd->allocator_context, size, ALIGNMENT, resource);
	if (address == IBV_ALLOCATOR_USE_DEFAULT) {
		*memory = (struct pd_memory){.address = calloc(1, size)};
	} else {
		*memory = (struct pd_memory){.address = address, .owner = pd, .resource = resource};
		if (address)
			memset(address, 0, size);
	}
	return memory->address;
}

void pd_release(struct pd_memory *memory)
{
	struct softdev_pd *pd = memory->owner;

	if (!pd)
		free(memory->address);
	else if (memory->address)
		pd->release(&pd->base, pd->allocator_context, memory->address, memory->resource);
	memory->address = NULL;
}

void pd_set_ops(struct verbs_context *verbs)
{
	verbs->alloc_td = alloc_td;
	verbs->dealloc_td = dealloc_td;
	verbs->alloc_parent_domain = alloc_parent_domain;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "device/device.h"

#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "fault/fault_control.h"
#include "lock.h"
#include "process/handle.h"
#include "process/log.h"
#include "process/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct ibv_device device = {
	.node_type = IBV_NODE_CA,
	.transport_type = IBV_TRANSPORT_IB,
	.name = "softv0",
	.dev_name = "softv0",
	.dev_path = "/sys/class/infiniband_verbs/softv0",
	.ibdev_path = "/sys/class/infiniband/softv0",
};
static __be64 guid;

struct device_state {
	pthread_mutex_t cm_lock;
	struct ibv_context *cm_context;
};

ENGINE_PART(device, NULL);

/* Hashes (FNV-1a) what identifies the host: its boot and the network namespace. */
static void make_guid(void)
{
	char text[160] = "";
	uint64_t hash = 0xcbf29ce484222325ull;
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	ssize_t used = 0;

	if (file) {
		used = fread(text, 1, 64, file);
		fclose(file);
	}
	used += readlink("/proc/self/ns/net", text + used, sizeof(text) - used - 1) > 0 ? 32 : 0;
	for (const char *c = text; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 0x100000001b3ull;
	hash = (hash & ~(3ull << 56)) | 2ull << 56; /* locally administered, unicast */
	guid = htobe64(hash);
}

struct ibv_device **softverbs_ibv_get_device_list(int *count)
{
	struct ibv_device **list = engine_check() ? NULL : calloc(2, sizeof(*list));

	pthread_once(&once, make_guid);
	if (!list)
		return null_with(ENOMEM);
	list[0] = &device;
	if (count)
		*count = 1;
	return list;
}

void softverbs_ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *softverbs_ibv_get_device_name(struct ibv_device *dev)
{
	return dev->name;
}

__be64 softverbs_ibv_get_device_guid(struct ibv_device *dev)
{
	(void)dev;
	pthread_once(&once, make_guid);
	return guid;
}

int softverbs_ibv_get_device_index(struct ibv_device *dev)
{
	(void)dev;
	return -1;
}

struct ibv_context *softverbs_ibv_open_device(struct ibv_device *dev)
{
	struct softdev_context *context;
	struct ibv_context *base;
	int64_t handle;
	int error = settings_check();

	if (!error)
		error = random_check();
	if (!error && fault_setting_is_misread())
		error = EINVAL;
	if (!error)
		error = fault_control_start();
	if (!error)
		error = fault_call(FAULT_OPEN_DEVICE);
	if (error)
		return null_with(error);
	context = calloc(1, sizeof(*context));
	if (!context)
		return NULL;
	error = -event_queue_init(&context->async);
	if (error)
		goto free_context;
	device_events_init(context);
	handle = handle_add(HANDLE_CONTEXT, context);
	if (handle < 0) {
		error = -handle;
		goto destroy_queue;
	}
	context->engine = engine;
	context->handle = handle;
	atomic_init(&context->users, 1);
	context->verbs.sz = sizeof(context->verbs);
	base = &context->verbs.context;
	base->device = dev;
	base->cmd_fd = context->async.fd; /* the context has no other descriptor, and programs duplicate this one */
	base->async_fd = context->async.fd;
	base->num_comp_vectors = DEVICE_COMP_VECTORS;
	base->abi_compat = __VERBS_ABI_IS_EXTENDED;
	for (int i = 0; device_operations[i]; i++)
		device_operations[i](&context->verbs);
	return base;

destroy_queue:
	event_queue_destroy(&context->async);
free_context:
	free(context);
	return null_with(error);
}

void context_hold(struct ibv_context *base)
{
	atomic_fetch_add(&to_context(base)->users, 1);
}

void context_release(struct ibv_context *base)
{
	struct softdev_context *context = to_context(base);

	if (atomic_fetch_sub(&context->users, 1) != 1 || !event_queue_destroy(&context->async))
		return;
	free(context);
}

int softverbs_ibv_close_device(struct ibv_context *base)
{
	struct softdev_context *context = to_context(base);
	int error = is_inherited(base) ? EIO : handle_remove(HANDLE_CONTEXT, context->handle, context, NULL);

	if (error)
		return minus_one_with(error);
	context_release(base);
	return 0;
}

struct ibv_context *device_cm_context(void)
{
	if (engine_check())
		return null_with(ENOMEM);
	HOLD_LOCK(&engine->device->cm_lock);
	if (!engine->device->cm_context)
		engine->device->cm_context = softverbs_ibv_open_device(&device);
	return engine->device->cm_context;
}

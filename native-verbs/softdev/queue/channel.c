/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "process/handle.h"
#include "queue/cq.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_comp_channel *softverbs_ibv_create_comp_channel(struct ibv_context *context)
{
	struct softdev_channel *channel;
	uint32_t handle;
	int error = is_inherited(context) ? EIO : fault_call(FAULT_CREATE_COMP_CHANNEL);

	if (error)
		return null_with(error);
	channel = handle_new(HANDLE_CHANNEL, sizeof(*channel), &handle);
	if (!channel)
		return NULL;
	error = -event_queue_init(&channel->queue);
	if (error) {
		handle_remove(HANDLE_CHANNEL, handle, channel, NULL);
		free(channel);
		return null_with(error);
	}
	channel->handle = handle;
	channel->base.context = context;
	channel->base.fd = channel->queue.fd;
	context_hold(context);
	return &channel->base;
}

int softverbs_ibv_destroy_comp_channel(struct ibv_comp_channel *base)
{
	struct softdev_channel *channel = to_channel(base);
	int error = EIO;

	if (!is_inherited(base->context))
		error = handle_remove(HANDLE_CHANNEL, channel->handle, channel, &channel->users);
	if (error)
		return error;
	context_release(base->context);
	if (event_queue_destroy(&channel->queue))
		free(channel);
	return 0;
}

int softverbs_ibv_get_cq_event(struct ibv_comp_channel *base, struct ibv_cq **cq, void **cq_context)
{
	struct event_node *node = event_queue_pop(&to_channel(base)->queue);

	if (!node)
		return -1;
	*cq = &container_of_(node, struct softdev_cq, comp_node)->base;
	*cq_context = (*cq)->cq_context;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of the connection manager: creation, options, migration between channels, destruction. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "fault/fault.h"
#include "link/link.h"
#include "lock.h"

int cm_result(int negative_errno)
{
	if (negative_errno >= 0)
		return 0;
	errno = -negative_errno;
	return -1;
}

struct cm_call {
	struct cm_id *id;
	int (*function)(struct cm_id *id, void *argument);
	void *argument;
	int result;
};

static void run_call(void *owner)
{
	struct cm_call *call = owner;

	call->result = call->function(call->id, call->argument);
}

int cm_run(struct cm_id *id, int (*function)(struct cm_id *id, void *argument), void *argument)
{
	struct cm_call call = {.id = id, .function = function, .argument = argument};
	int error = cm_is_inherited(id->id.channel) ? -EIO : progress_call(run_call, &call);

	return error ? error : call.result;
}

struct cm_id *cm_create_id(struct rdma_event_channel *channel, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->udp_watch.fd = -1;
	id->udp_watch.owner = id->timer.owner = id;
	random_bytes(&id->local.psn, sizeof(id->local.psn));
	id->local.psn &= 0xffffff;
	pthread_mutex_init(&id->event_lock, NULL);
	pthread_cond_init(&id->event_acked, NULL);
	return id;
}

void cm_free_id(struct cm_id *id)
{
	if (id->sync)
		softverbs_rdma_destroy_event_channel(id->id.channel);
	pthread_cond_destroy(&id->event_acked);
	pthread_mutex_destroy(&id->event_lock);
	cm_leave_device(id);
	free(id);
}

int cm_open_id(struct rdma_event_channel *channel, struct rdma_cm_id **id_out, void *context,
	       enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	struct cm_id *id;
	int error;

	if (ps != RDMA_PS_TCP && ps != RDMA_PS_UDP && ps != RDMA_PS_IPOIB && ps != RDMA_PS_IB)
		return cm_result(-EINVAL);
	error = -engine_check();
	if (!error)
		error = -random_check();
	if (!error)
		error = channel && cm_is_inherited(channel) ? -EIO : progress_start();
	if (!error)
		error = -fault_call(FAULT_CREATE_ID);
	if (error)
		return cm_result(error);
	id = cm_create_id(channel, context, ps, qp_type);
	if (!id)
		return cm_result(-ENOMEM);
	if (!channel) {
		id->id.channel = softverbs_rdma_create_event_channel();
		if (!id->id.channel) {
			error = -errno;
			cm_free_id(id);
			return cm_result(error);
		}
		id->sync = true;
	}
	*id_out = &id->id;
	return 0;
}

int softverbs_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
			     void *context, enum rdma_port_space ps)
{
	return cm_open_id(channel, id, context, ps,
			  ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC);
}

void cm_take_event(struct cm_id *id)
{
	if (!id->id.event)
		return;
	softverbs_rdma_ack_cm_event(id->id.event);
	id->id.event = NULL;
}

static int shut_down(struct cm_id *id, void *unused)
{
	(void)unused;
	list_remove(&id->listener);
	cm_abandon(id);
	cm_unbind(id);
	return 0;
}

int softverbs_rdma_destroy_id(struct rdma_cm_id *public_id)
{
	struct cm_id *id = to_cm_id(public_id);
	int error = cm_run(id, shut_down, NULL);

	if (error)
		return cm_result(error); /* the child of a fork does not own an inherited id */
	cm_take_event(id);
	cm_drain_events(id);
	cm_leave_groups(id);
	cm_free_id(id);
	return 0;
}

/*
 * Moves the unread events of the id to the new channel, in order; the new id of an unread CONNECT_REQUEST moves with
 * it.
 */
static int move_to_channel(struct cm_id *id, void *argument)
{
	struct cm_channel *target = argument;

	HOLD_LOCK(&id->event_lock);
	id->id.channel = &target->channel;
	LIST_EACH(at, &id->events) {
		struct cm_event *event = container_of_(at, struct cm_event, place);
		bool unread = event_queue_remove(&event->channel->queue, &event->node) > 0;

		event->channel = target;
		event->left_behind = !unread;
		if (!unread)
			continue;
		if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			move_to_channel(to_cm_id(event->event.id), target);
		event_queue_push(&target->queue, &event->node);
	}
	return 0;
}

/* Called with id->event_lock held. */
static bool has_left_behind(const struct cm_id *id)
{
	LIST_EACH(at, &id->events)
		if (container_of_(at, struct cm_event, place)->left_behind)
			return true;
	return false;
}

static void await_left_behind(struct cm_id *id)
{
	HOLD_LOCK(&id->event_lock);
	while (has_left_behind(id))
		pthread_cond_wait(&id->event_acked, &id->event_lock);
}

int softverbs_rdma_migrate_id(struct rdma_cm_id *public_id, struct rdma_event_channel *channel)
{
	struct cm_id *id = to_cm_id(public_id);
	struct rdma_event_channel *old = public_id->channel;
	bool was_sync = id->sync;
	bool sync = !channel;
	int error;

	if (was_sync && sync)
		return cm_result(-EINVAL);
	if (sync) {
		channel = softverbs_rdma_create_event_channel();
		if (!channel)
			return -1;
	}
	cm_release_held(id);
	error = cm_run(id, move_to_channel, to_cm_channel(channel));
	if (error) {
		if (sync)
			softverbs_rdma_destroy_event_channel(channel);
		return cm_result(error);
	}
	id->sync = sync;
	if (was_sync) {
		cm_take_event(id);
		softverbs_rdma_destroy_event_channel(old);
	}
	await_left_behind(id);
	return 0;
}

int cm_complete(struct cm_id *id)
{
	struct rdma_cm_event *event;

	if (!id->sync)
		return 0;
	cm_take_event(id);
	if (softverbs_rdma_get_cm_event(id->id.channel, &event))
		return -1;
	id->id.event = event;
	if (!event->status)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return cm_result(-ECONNREFUSED);
	return cm_result(event->status < 0 ? event->status : -event->status);
}

__be16 softverbs_rdma_get_src_port(struct rdma_cm_id *id)
{
	return cm_address_port(&id->route.addr.src_addr);
}

__be16 softverbs_rdma_get_dst_port(struct rdma_cm_id *id)
{
	return cm_address_port(&id->route.addr.dst_addr);
}

struct ibv_context **softverbs_rdma_get_devices(int *count)
{
	struct ibv_context *context = device_cm_context();
	struct ibv_context **list;

	if (!context)
		return NULL;
	list = calloc(2, sizeof(struct ibv_context *));
	if (!list)
		return NULL;
	list[0] = context;
	if (count)
		*count = 1;
	return list;
}

void softverbs_rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

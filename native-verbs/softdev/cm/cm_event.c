/* SPDX-License-Identifier: Apache-2.0 */
/* Event channels, and the life of an event from push to acknowledgement. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cm/cm.h"
#include "cm/cm_exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "process/log.h"

#define MS 1000000ull

struct rdma_event_channel *softverbs_rdma_create_event_channel(void)
{
	struct cm_channel *channel = calloc(1, sizeof(*channel));
	int error = channel && !engine_check() ? -fault_call(FAULT_CREATE_EVENT_CHANNEL) : -ENOMEM;

	if (!error)
		error = event_queue_init(&channel->queue);
	if (error) {
		free(channel);
		errno = -error;
		return NULL;
	}
	channel->channel.fd = channel->queue.fd;
	return &channel->channel;
}

void softverbs_rdma_destroy_event_channel(struct rdma_event_channel *public_channel)
{
	struct cm_channel *channel = to_cm_channel(public_channel);

	if (event_queue_destroy(&channel->queue))
		free(channel);
}

struct cm_event *cm_new_event(struct cm_id *owner, struct cm_id *id, enum rdma_cm_event_type type,
			      int status)
{
	struct cm_event *event = calloc(1, sizeof(*event));

	if (!event) {
		log_error("no memory for %s", softverbs_rdma_event_str(type));
		return NULL;
	}
	event->owner = owner;
	event->event.id = &id->id;
	event->event.listen_id = owner == id ? NULL : &owner->id;
	event->event.event = type;
	event->event.status = status;
	return event;
}

void cm_set_private_data(struct cm_event *event, const void *data, uint8_t length)
{
	memcpy(event->private_data, data, length);
	event->event.param.conn.private_data = event->private_data;
	event->event.param.conn.private_data_len = length;
}

static void let_go(struct fault_held *held)
{
	struct cm_event *event = container_of_(held, struct cm_event, held);

	event_queue_push(&event->channel->queue, &event->node);
}

void cm_release_held(const struct cm_id *id)
{
	if (fault_is_on())
		fault_hold_end(id, let_go);
}

/* Applies the faults, which may change the type of the event. Returns true if it comes later, or never. */
static bool is_held(struct cm_event *event)
{
	const struct fault *fault = fault_check(FAULT_CM_EVENT, .kind = event->event.event);

	if (fault && fault->event >= 0) {
		event->event.event = fault->event;
		event->event.status = fault->reason >= 0 ? fault->reason : -fault->error;
	}
	if (!fault || (!fault->drop && !fault->delay_ms))
		return false;
	event->held = (struct fault_held){.of = event->owner, .let_go = let_go};
	return fault_hold(&event->held, fault->delay_ms ? progress_now_ns() + fault->delay_ms * MS : FAULT_NEVER);
}

void cm_push_event(struct cm_event *event)
{
	struct cm_id *owner = event->owner;

	pthread_mutex_lock(&owner->event_lock);
	event->channel = to_cm_channel(owner->id.channel);
	list_add(&owner->events, &event->place);
	pthread_mutex_unlock(&owner->event_lock);
	if (!is_held(event))
		event_queue_push(&event->channel->queue, &event->node);
}

void cm_report(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	struct cm_event *event = cm_new_event(id, id, type, status);

	if (event)
		cm_push_event(event);
}

int softverbs_rdma_ack_cm_event(struct rdma_cm_event *public_event)
{
	struct cm_event *event;
	struct cm_id *owner;

	if (!public_event)
		return cm_result(-EINVAL);
	event = container_of_(public_event, struct cm_event, event);
	owner = event->owner;
	pthread_mutex_lock(&owner->event_lock);
	list_remove(&event->place);
	pthread_cond_broadcast(&owner->event_acked);
	pthread_mutex_unlock(&owner->event_lock);
	free(event);
	return 0;
}

/* Takes an event back that nobody has read; NULL if there is none. */
static struct cm_event *take_unread(struct cm_id *id)
{
	HOLD_LOCK(&id->event_lock);
	LIST_EACH(at, &id->events) {
		struct cm_event *event = container_of_(at, struct cm_event, place);

		if (event_queue_remove(&event->channel->queue, &event->node)) {
			list_remove(at);
			return event;
		}
	}
	return NULL;
}

void cm_drain_events(struct cm_id *id)
{
	struct cm_event *event;

	cm_release_held(id);
	while ((event = take_unread(id))) {
		if (event->event.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			softverbs_rdma_destroy_id(event->event.id);
		free(event);
	}
	HOLD_LOCK(&id->event_lock);
	while (!list_is_empty(&id->events))
		pthread_cond_wait(&id->event_acked, &id->event_lock);
}

static int refuse_reply(struct cm_id *id, void *unused)
{
	(void)unused;
	if (id->state == CM_REPLY_RECEIVED)
		cm_send_reject(id, CM_REJECT_CONSUMER, NULL, 0);
	return 0;
}

/* When the reply arrives, the queue pair of the id moves to RTS, as in librdmacm. */
static void finish_connect(struct rdma_cm_event *event, struct cm_id *id)
{
	int error = cm_modify_to_ready(id);

	if (!error)
		error = cm_run(id, cm_send_ready, NULL);
	if (!error) {
		event->event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	cm_run(id, refuse_reply, NULL);
	event->event = RDMA_CM_EVENT_CONNECT_ERROR;
	event->status = error;
	cm_modify_to_error(id);
}

/* The new id cannot get a channel, so its request is refused. Returns -1 and keeps errno. */
static int refuse_request(struct cm_event *event)
{
	int error = errno;

	softverbs_rdma_destroy_id(event->event.id);
	softverbs_rdma_ack_cm_event(&event->event);
	errno = error;
	return -1;
}

int softverbs_rdma_get_cm_event(struct rdma_event_channel *public_channel,
				struct rdma_cm_event **out)
{
	struct event_node *node;
	struct cm_event *event;
	struct cm_id *id;

	if (!public_channel || !out)
		return cm_result(-EINVAL);
	node = event_queue_pop(&to_cm_channel(public_channel)->queue);
	if (!node)
		return -1;
	event = container_of_(node, struct cm_event, node);
	id = to_cm_id(event->event.id);
	switch (event->event.event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		atomic_fetch_sub_explicit(&event->owner->unread_requests, 1, memory_order_relaxed);
		if (event->owner->sync && softverbs_rdma_migrate_id(&id->id, NULL))
			return refuse_request(event);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		if (id->id.qp)
			finish_connect(&event->event, id);
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		cm_modify_to_error(id);
		break;
	default:
		break;
	}
	*out = &event->event;
	return 0;
}

static const char *const event_names[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = "RDMA_CM_EVENT_ADDR_RESOLVED",
	[RDMA_CM_EVENT_ADDR_ERROR] = "RDMA_CM_EVENT_ADDR_ERROR",
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = "RDMA_CM_EVENT_ROUTE_RESOLVED",
	[RDMA_CM_EVENT_ROUTE_ERROR] = "RDMA_CM_EVENT_ROUTE_ERROR",
	[RDMA_CM_EVENT_CONNECT_REQUEST] = "RDMA_CM_EVENT_CONNECT_REQUEST",
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = "RDMA_CM_EVENT_CONNECT_RESPONSE",
	[RDMA_CM_EVENT_CONNECT_ERROR] = "RDMA_CM_EVENT_CONNECT_ERROR",
	[RDMA_CM_EVENT_UNREACHABLE] = "RDMA_CM_EVENT_UNREACHABLE",
	[RDMA_CM_EVENT_REJECTED] = "RDMA_CM_EVENT_REJECTED",
	[RDMA_CM_EVENT_ESTABLISHED] = "RDMA_CM_EVENT_ESTABLISHED",
	[RDMA_CM_EVENT_DISCONNECTED] = "RDMA_CM_EVENT_DISCONNECTED",
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = "RDMA_CM_EVENT_DEVICE_REMOVAL",
	[RDMA_CM_EVENT_MULTICAST_JOIN] = "RDMA_CM_EVENT_MULTICAST_JOIN",
	[RDMA_CM_EVENT_MULTICAST_ERROR] = "RDMA_CM_EVENT_MULTICAST_ERROR",
	[RDMA_CM_EVENT_ADDR_CHANGE] = "RDMA_CM_EVENT_ADDR_CHANGE",
	[RDMA_CM_EVENT_TIMEWAIT_EXIT] = "RDMA_CM_EVENT_TIMEWAIT_EXIT",
};

const char *softverbs_rdma_event_str(enum rdma_cm_event_type event)
{
	if ((unsigned int)event >= sizeof(event_names) / sizeof(event_names[0]))
		return "UNKNOWN EVENT";
	return event_names[event];
}

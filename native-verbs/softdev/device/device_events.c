/* SPDX-License-Identifier: Apache-2.0 */
/* Async events of the port and the device: every open context gets them. */
#include "device/device.h"
#include "process/handle.h"

static const enum ibv_event_type types[DEVICE_EVENTS] = {
	IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR,	    IBV_EVENT_LID_CHANGE,
	IBV_EVENT_PKEY_CHANGE,	IBV_EVENT_SM_CHANGE,   IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE,
};

void device_events_init(struct softdev_context *context)
{
	for (int i = 0; i < DEVICE_EVENTS; i++) {
		context->events[i].event.event_type = types[i];
		context->events[i].event.element.port_num = types[i] == IBV_EVENT_DEVICE_FATAL ? 0 : 1;
	}
}

struct raising {
	enum ibv_event_type type;
	unsigned int raised;
};

static void raise_on(void *object, void *argument)
{
	struct softdev_context *context = object;
	struct raising *raising = argument;

	for (int i = 0; i < DEVICE_EVENTS; i++)
		if (types[i] == raising->type) {
			async_raise(&context->verbs.context, &context->events[i]);
			raising->raised++;
		}
}

unsigned int device_raise(enum ibv_event_type type)
{
	struct raising raising = {.type = type};

	handle_for_each(HANDLE_CONTEXT, raise_on, &raising);
	return raising.raised;
}

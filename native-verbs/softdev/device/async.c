/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"
#include "exports.h"
#include "process/log.h"
#include "queue/cq.h"
#include "queue/qp.h"

#include <errno.h>

void async_raise(struct ibv_context *context, struct async_source *source)
{
	log_info("async event: %s", softverbs_ibv_event_type_str(source->event.event_type));
	event_queue_push(&to_context(context)->async, &source->node);
}

unsigned int async_withdraw(struct ibv_context *context, struct async_source *source)
{
	return event_queue_remove(&to_context(context)->async, &source->node);
}

int softverbs_ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct event_node *node = event_queue_pop(&to_context(context)->async);

	if (!node)
		return -1;
	*event = container_of_(node, struct async_source, node)->event;
	return 0;
}

void softverbs_ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		cq_ack_async(event->element.cq);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
		qp_ack_async(event->element.qp);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		srq_ack_async(event->element.srq);
		break;
	default:
		break;
	}
}

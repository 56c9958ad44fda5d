/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"
#include "exports.h"
#include "lock.h"
#include "process/log.h"

#include <errno.h>
#include <pthread.h>

void async_raise(struct ibv_context *context, struct async_source *source)
{
	log_info("async event: %s", softverbs_ibv_event_type_str(source->event.event_type));
	event_queue_push(&to_context(context)->async, &source->node);
}

unsigned int async_withdraw(struct ibv_context *context, struct async_source *source)
{
	return event_queue_remove(&to_context(context)->async, &source->node);
}

void async_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acknowledged, uint32_t raised)
{
	HOLD_LOCK(mutex);
	while (*acknowledged != raised)
		pthread_cond_wait(cond, mutex);
}

int softverbs_ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct event_node *node = event_queue_pop(&to_context(context)->async);

	if (!node)
		return -1;
	*event = container_of_(node, struct async_source, node)->event;
	return 0;
}

void async_count_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acknowledged, uint32_t count)
{
	HOLD_LOCK(mutex);
	*acknowledged += count;
	pthread_cond_signal(cond);
}

void softverbs_ibv_ack_async_event(struct ibv_async_event *event)
{
	struct ibv_cq *cq = event->element.cq;
	struct ibv_qp *qp = event->element.qp;
	struct ibv_srq *srq = event->element.srq;

	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		async_count_acks(&cq->mutex, &cq->cond, &cq->async_events_completed, 1);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
		async_count_acks(&qp->mutex, &qp->cond, &qp->events_completed, 1);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
	case IBV_EVENT_SRQ_ERR:
		async_count_acks(&srq->mutex, &srq->cond, &srq->events_completed, 1);
		break;
	default:
		break;
	}
}

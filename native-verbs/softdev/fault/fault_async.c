/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/fault_async.h"

#include "device/device.h"
#include "lock.h"
#include "process/log.h"
#include "process/progress.h"
#include "queue/cq.h"
#include "queue/qp.h"

#include <stdlib.h>

struct raising {
	struct progress_task task;
	enum ibv_event_type type;
	uint32_t qpn; /* 0 = all */
	unsigned int raised;
};

static bool concerns(const struct softdev_qp *qp, const struct raising *raising)
{
	return !raising->qpn || qp->base.qp_num == raising->qpn;
}

static void fail_queues(struct softdev_qp *qp, void *argument)
{
	struct raising *raising = argument;

	if (!concerns(qp, raising))
		return;
	cq_fail(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		cq_fail(qp->recv_cq);
	raising->raised++;
}

static void raise_on_qp(struct softdev_qp *qp, void *argument)
{
	struct raising *raising = argument;
	bool failed = raising->type == IBV_EVENT_QP_FATAL || raising->type == IBV_EVENT_QP_REQ_ERR ||
		      raising->type == IBV_EVENT_QP_ACCESS_ERR;

	if (!concerns(qp, raising))
		return;
	if (qp->rq.srq && srq_raise_type(qp->rq.srq, raising->type))
		raising->raised++;
	HOLD_LOCK(&qp->lock);
	if (!qp_raise_type(qp, raising->type))
		return;
	raising->raised++;
	if (failed)
		qp_enter_error(qp);
}

static void stop_qp(struct softdev_qp *qp, void *unused)
{
	(void)unused;
	HOLD_LOCK(&qp->lock);
	qp_enter_error(qp);
}

unsigned int fault_raise(int event, uint32_t qpn)
{
	struct raising raising = {.type = event, .qpn = qpn};

	if (raising.type == IBV_EVENT_CQ_ERR)
		qp_for_each(fail_queues, &raising);
	else
		qp_for_each(raise_on_qp, &raising);
	raising.raised += device_raise(raising.type);
	if (raising.type == IBV_EVENT_DEVICE_FATAL)
		qp_for_each(stop_qp, NULL);
	return raising.raised;
}

static void raise_now(void *owner)
{
	struct raising *raising = owner;

	fault_raise(raising->type, raising->qpn);
	free(raising);
}

void fault_raise_soon(int event, uint32_t qpn)
{
	struct raising *raising = malloc(sizeof(*raising));

	if (!raising) {
		log_error("no memory to raise event %d", event);
		return;
	}
	*raising = (struct raising){.task = {.callback = raise_now, .owner = raising}, .type = event, .qpn = qpn};
	progress_post(&raising->task);
}

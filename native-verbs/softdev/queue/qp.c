/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a queue pair as an object: its creation, its events and its end. */
#include "queue/qp.h"

#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "memory/peer_table.h"
#include "process/counters.h"
#include "process/handle.h"
#include "process/log.h"
#include "queue/qp_table.h"
#include "queue/wr_builder.h"

#include <errno.h>
#include <stdlib.h>

static const enum ibv_event_type async_types[QP_ASYNC_COUNT] = {
	[QP_ASYNC_FATAL] = IBV_EVENT_QP_FATAL,
	[QP_ASYNC_REQ_ERR] = IBV_EVENT_QP_REQ_ERR,
	[QP_ASYNC_ACCESS_ERR] = IBV_EVENT_QP_ACCESS_ERR,
	[QP_ASYNC_COMM_EST] = IBV_EVENT_COMM_EST,
	[QP_ASYNC_DRAINED] = IBV_EVENT_SQ_DRAINED,
	[QP_ASYNC_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
	[QP_ASYNC_PATH_MIG] = IBV_EVENT_PATH_MIG,
	[QP_ASYNC_PATH_MIG_ERR] = IBV_EVENT_PATH_MIG_ERR,
};

void qp_raise(struct softdev_qp *qp, enum qp_async kind)
{
	qp->async_raised++;
	async_raise(qp->base.context, &qp->async[kind]);
}

bool qp_raise_type(struct softdev_qp *qp, enum ibv_event_type type)
{
	for (int kind = 0; kind < QP_ASYNC_COUNT; kind++)
		if (async_types[kind] == type) {
			qp_raise(qp, kind);
			return true;
		}
	return false;
}

static void free_qp(struct softdev_qp *qp)
{
	if (qp->transport->destroy)
		qp->transport->destroy(qp);
	wr_builder_free(qp->builder);
	for (int i = 0; i < qp->memory_count; i++)
		pd_release(&qp->memory[i]);
	free(qp);
}

/* Allocates an array that may have length 0. Returns NULL only if memory is short. */
static void *array(struct softdev_qp *qp, size_t count, size_t size)
{
	return pd_allocate(qp->pd, PD_RESOURCE_QP, count * size, &qp->memory[qp->memory_count++]);
}

/* Returns the index mask of the smallest ring with room for `entries`. */
static uint32_t ring_mask(uint32_t entries)
{
	uint32_t mask = 0;

	while (mask + 1 < entries)
		mask = mask * 2 + 1;
	return mask;
}

static struct softdev_qp *new_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct softdev_qp *qp = calloc(1, sizeof(*qp));

	if (!qp)
		return NULL;
	random_bytes(qp->requester.id, sizeof(qp->requester.id));
	qp->base.context = pd->context;
	qp->base.qp_context = init->qp_context;
	qp->base.pd = pd;
	qp->base.send_cq = init->send_cq;
	qp->base.recv_cq = init->recv_cq;
	qp->base.srq = init->srq;
	qp->base.state = IBV_QPS_RESET;
	qp->base.qp_type = init->qp_type;
	qp->pd = to_pd(pd);
	qp->send_cq = to_cq(init->send_cq);
	qp->recv_cq = to_cq(init->recv_cq);
	qp->cap = init->cap;
	if (init->srq) {
		qp->rq.srq = to_srq(init->srq);
		qp->cap.max_recv_wr = qp->cap.max_recv_sge = 0;
	}
	if (qp->cap.max_inline_data < DEVICE_MIN_INLINE)
		qp->cap.max_inline_data = DEVICE_MIN_INLINE;
	if (!qp->cap.max_send_sge) /* ibv_wr_set_inline_data() needs one, too */
		qp->cap.max_send_sge = 1;
	qp->sq_sig_all = init->sq_sig_all;
	qp->transport = qp_transports[init->qp_type];
	for (int i = 0; i < QP_ASYNC_COUNT; i++)
		qp->async[i].event = (struct ibv_async_event){.element.qp = &qp->base,
							      .event_type = async_types[i]};
	qp->sq.mask = ring_mask(qp->cap.max_send_wr);
	qp->rq.mask = ring_mask(qp->cap.max_recv_wr);
	qp->sq.slots = array(qp, qp->sq.mask + 1, sizeof(*qp->sq.slots));
	qp->sq.sges = array(qp, ((size_t)qp->sq.mask + 1) * qp->cap.max_send_sge, sizeof(struct ibv_sge));
	qp->sq.inline_data = array(qp, ((size_t)qp->sq.mask + 1) * qp->cap.max_inline_data, 1);
	qp->rq.slots = array(qp, (size_t)qp->rq.mask + 1, sizeof(*qp->rq.slots));
	qp->rq.sges =
		array(qp, ((size_t)qp->rq.mask + 1) * qp->cap.max_recv_sge, sizeof(struct ibv_sge));
	if (!qp->sq.slots || !qp->sq.sges || !qp->sq.inline_data || !qp->rq.slots || !qp->rq.sges) {
		free_qp(qp);
		return NULL;
	}
	return qp;
}

static int check_init_attr(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	if (is_inherited(pd->context))
		return EIO;
	if (!handle_is(HANDLE_PD, pd->handle, pd) || !init->send_cq || !init->recv_cq)
		return EINVAL;
	if (!handle_is(HANDLE_CQ, init->send_cq->handle, init->send_cq) ||
	    !handle_is(HANDLE_CQ, init->recv_cq->handle, init->recv_cq))
		return EINVAL;
	if (init->srq && !handle_is(HANDLE_SRQ, init->srq->handle, init->srq))
		return EINVAL;
	if (init->send_cq->context != pd->context || init->recv_cq->context != pd->context ||
	    (init->srq && init->srq->context != pd->context))
		return EINVAL; /* an object of one context is unknown to another */
	if ((unsigned int)init->qp_type > IBV_QPT_UD || !qp_transports[init->qp_type]) {
		log_warn("a queue pair of type %d is not supported: RC (%d), UC (%d) and UD (%d) are", init->qp_type,
			 IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD);
		return EOPNOTSUPP;
	}
	if (!init->srq && (init->cap.max_recv_wr > DEVICE_MAX_WR || init->cap.max_recv_sge > DEVICE_MAX_SGE))
		return EINVAL;
	if (init->cap.max_send_wr > DEVICE_MAX_WR || init->cap.max_send_sge > DEVICE_MAX_SGE ||
	    init->cap.max_inline_data > DEVICE_MAX_INLINE)
		return EINVAL;
	return 0;
}

struct ibv_qp *softverbs_ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct softdev_qp *qp;
	int error = check_init_attr(pd, init);

	if (!error)
		error = fault_call(FAULT_CREATE_QP);
	if (!error && !own_table())
		error = errno;
	if (error)
		return null_with(error);
	qp = new_qp(pd, init);
	if (!qp)
		return null_with(ENOMEM);
	error = qp->transport->create(qp);
	if (!error)
		error = qp_table_take_number(qp);
	if (error)
		goto free_it;
	if (qp->transport->open)
		error = qp->transport->open(qp);
	if (error)
		goto free_number;
	qp_begin_generation(qp);
	atomic_fetch_add(&qp->pd->users, 1);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	if (qp->rq.srq)
		atomic_fetch_add(&qp->rq.srq->users, 1);
	init->cap = qp->cap;
	qp_table_add(qp);
	COUNT(qp_live);
	COUNT(qp_ever);
	return &qp->base;

free_number:
	qp_table_give_number_back(qp);
free_it:
	free_qp(qp);
	return null_with(error);
}

enum {
	KNOWN_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS |
		     IBV_QP_INIT_ATTR_MAX_TSO_HEADER | IBV_QP_INIT_ATTR_IND_TABLE |
		     IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	SUPPORTED_MASK = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
};

static int check_extended(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->comp_mask & ~(uint32_t)KNOWN_MASK)
		return EINVAL;
	if (attr->comp_mask & ~(uint32_t)SUPPORTED_MASK)
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || attr->pd->context != context)
		return EINVAL;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    !wr_builder_supports(attr->qp_type, attr->send_ops_flags))
		return EOPNOTSUPP;
	return 0;
}

static struct ibv_qp *create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp *qp;
	int error = check_extended(context, attr);

	if (error)
		return null_with(error);
	/* ibv_qp_init_attr_ex begins with the fields of ibv_qp_init_attr. */
	qp = softverbs_ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)(void *)attr);
	if (!qp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		error = wr_builder_attach(to_qp(qp), attr->send_ops_flags);
	if (!error)
		return qp;
	softverbs_ibv_destroy_qp(qp);
	return null_with(error);
}

struct ibv_qp_ex *softverbs_ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	return to_qp(qp)->builder ? &to_qp(qp)->ex : NULL;
}

static void wait_for_acks(struct softdev_qp *qp)
{
	for (int i = 0; i < QP_ASYNC_COUNT; i++)
		qp->async_raised -= async_withdraw(qp->base.context, &qp->async[i]);
	async_await_acks(&qp->base.mutex, &qp->base.cond, &qp->base.events_completed, qp->async_raised);
}

int softverbs_ibv_destroy_qp(struct ibv_qp *base)
{
	struct softdev_qp *qp = to_qp(base);
	struct softdev_pd *pd = qp->pd;
	int error = is_inherited(base->context) ? EIO : fault_call(FAULT_DESTROY_QP, .qpn = base->qp_num);

	if (error)
		return error;
	if (!qp_is_live(qp))
		return ENOENT;
	if (qp->transport->is_in_use && qp->transport->is_in_use(qp))
		return EBUSY;
	qp_send_posted(qp);
	pthread_mutex_lock(&qp->lock);
	error = qp_stop(qp) ? 0 : EBUSY; /* it can be destroyed as soon as the copy has ended */
	pthread_mutex_unlock(&qp->lock);
	if (error)
		return error;
	qp_table_remove(qp);
	pthread_mutex_lock(&qp->lock);
	qp_reset(qp);
	pthread_mutex_unlock(&qp->lock);
	qp_table_give_number_back(qp);
	wait_for_acks(qp);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	if (qp->rq.srq)
		atomic_fetch_sub(&qp->rq.srq->users, 1);
	COUNT_DOWN(qp_live);
	free_qp(qp);
	atomic_fetch_sub(&pd->users, 1); /* last, because its allocator may own the memory */
	return 0;
}

void qp_set_ops(struct verbs_context *verbs)
{
	verbs->context.ops.post_send = qp_post_send;
	verbs->context.ops.post_recv = qp_post_recv;
	verbs->context.ops.bind_mw = qp_bind_mw;
	verbs->create_qp_ex = create_ex;
}

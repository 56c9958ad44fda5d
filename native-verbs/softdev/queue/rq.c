/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"
#include "fault/fault.h"
#include "lock.h"
#include "queue/qp.h"

#include <errno.h>
#include <string.h>

static struct rqe *rqe_at(struct softdev_qp *qp, uint32_t index)
{
	return &qp->rq.slots[index & qp->rq.mask];
}

struct rqe *rq_next(struct softdev_qp *qp)
{
	if (!qp->rq.srq)
		return qp->rq.done == qp->rq.post ? NULL : rqe_at(qp, qp->rq.done);
	if (!qp->rq.shared_receive)
		qp->rq.shared_receive = srq_take(qp->rq.srq);
	return qp->rq.shared_receive;
}

const struct softdev_pd *rq_pd(const struct softdev_qp *qp)
{
	return qp->rq.srq ? qp->rq.srq->pd : qp->pd;
}

void rq_complete(struct softdev_qp *qp, const struct ibv_wc *wc, bool solicited)
{
	struct rqe *rqe = rq_next(qp);
	struct cqe entry = {.wc = *wc, .qp = qp, .shared_receive = qp->rq.shared_receive};

	entry.wc.wr_id = rqe->wr_id;
	entry.wc.qp_num = qp->base.qp_num;
	if (!qp->ud)
		entry.wc.src_qp = qp->attr.dest_qp_num;
	if (qp->rq.srq)
		qp->rq.shared_receive = NULL;
	else
		entry.freed = ++qp->rq.done;
	cq_push(qp->recv_cq, &entry, solicited);
}

void rq_flush(struct softdev_qp *qp)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};

	if (!qp->rq.srq) {
		while (rq_next(qp))
			rq_complete(qp, &flushed, false);
		return;
	}
	if (qp->rq.shared_receive)
		rq_complete(qp, &flushed, false);
	if (!qp->rq.told_last_wqe)
		qp_raise(qp, QP_ASYNC_LAST_WQE);
	qp->rq.told_last_wqe = true;
}

void rq_reset(struct softdev_qp *qp)
{
	if (qp->rq.shared_receive)
		srq_put_back(qp->rq.shared_receive);
	qp->rq.shared_receive = NULL;
	qp->rq.told_last_wqe = false;
	qp->rq.post = qp->rq.done = 0;
	atomic_store(&qp->rq.freed, 0);
}

void rq_fill(struct rqe *rqe, const struct ibv_recv_wr *wr)
{
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->length = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		rqe->sge[i] = wr->sg_list[i];
		rqe->length += wr->sg_list[i].length;
	}
}

static bool has_room(struct softdev_qp *qp)
{
	uint32_t freed = atomic_load_explicit(&qp->rq.freed, memory_order_acquire);

	return qp->rq.post - freed < qp->cap.max_recv_wr;
}

/* Called with qp->lock held. 0 or a positive errno. */
static int post_one(struct softdev_qp *qp, const struct ibv_recv_wr *wr)
{
	const struct fault *fault = fault_check(FAULT_POST_RECV, .qpn = qp->base.qp_num);
	uint32_t index;
	struct rqe *rqe;

	if (fault && fault->error)
		return fault->error;
	if (atomic_load(&qp->state) == IBV_QPS_RESET || qp->rq.srq)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	if (!has_room(qp))
		return ENOMEM;
	index = qp->rq.post & qp->rq.mask;
	rqe = &qp->rq.slots[index];
	rqe->sge = qp->rq.sges + (size_t)index * qp->cap.max_recv_sge;
	rq_fill(rqe, wr);
	qp->rq.post++;
	return 0;
}

int qp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct softdev_qp *qp = to_qp(base);
	int error = 0;

	if (is_inherited(base->context)) {
		*bad_wr = wr;
		return EIO;
	}
	HOLD_LOCK(&qp->lock);
	for (; wr; wr = wr->next) {
		error = post_one(qp, wr);
		if (error) {
			*bad_wr = wr;
			break;
		}
	}
	if (atomic_load(&qp->state) == IBV_QPS_ERR)
		qp_flush(qp);
	return error;
}

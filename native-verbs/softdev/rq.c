/* SPDX-License-Identifier: Apache-2.0 */
#include "qp.h"

#include <errno.h>
#include <string.h>

static struct rqe *rqe_at(struct softdev_qp *qp, uint32_t index)
{
	return &qp->rq[index % qp->cap.max_recv_wr];
}

struct rqe *rq_oldest(struct softdev_qp *qp)
{
	return qp->rq_done == qp->rq_post ? NULL : rqe_at(qp, qp->rq_done);
}

void rq_complete(struct softdev_qp *qp, const struct ibv_wc *wc, bool solicited)
{
	struct cqe entry = {.wc = *wc, .qp = qp};

	entry.wc.wr_id = rqe_at(qp, qp->rq_done)->wr_id;
	entry.wc.qp_num = qp->base.qp_num;
	entry.wc.src_qp = qp->attr.dest_qp_num;
	entry.freed = ++qp->rq_done;
	cq_push(qp->recv_cq, &entry, solicited);
}

void rq_flush(struct softdev_qp *qp)
{
	const struct ibv_wc flushed = {.status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV};

	while (rq_oldest(qp))
		rq_complete(qp, &flushed, false);
}

static bool has_room(struct softdev_qp *qp)
{
	uint32_t freed = atomic_load_explicit(&qp->rq_freed, memory_order_acquire);

	return qp->rq_post - freed < qp->cap.max_recv_wr;
}

/* qp->lock held. 0 or a positive errno. */
static int post_one(struct softdev_qp *qp, const struct ibv_recv_wr *wr)
{
	uint32_t index;
	struct rqe *rqe;

	if (atomic_load(&qp->state) == IBV_QPS_RESET)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	if (!has_room(qp))
		return ENOMEM;
	index = qp->rq_post % qp->cap.max_recv_wr;
	rqe = &qp->rq[index];
	rqe->wr_id = wr->wr_id;
	rqe->num_sge = wr->num_sge;
	rqe->sge = qp->rq_sges + (size_t)index * qp->cap.max_recv_sge;
	rqe->length = 0;
	for (int i = 0; i < wr->num_sge; i++) {
		rqe->sge[i] = wr->sg_list[i];
		rqe->length += wr->sg_list[i].length;
	}
	qp->rq_post++;
	return 0;
}

int qp_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct softdev_qp *qp = to_qp(base);
	int error = process_is_forked_child() ? EIO : 0;

	if (error) {
		*bad_wr = wr;
		return error;
	}
	pthread_mutex_lock(&qp->lock);
	for (; wr; wr = wr->next) {
		error = post_one(qp, wr);
		if (error) {
			*bad_wr = wr;
			break;
		}
	}
	if (atomic_load(&qp->state) == IBV_QPS_ERR) {
		qp_busy_begin(qp);
		qp_busy_end(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return error;
}

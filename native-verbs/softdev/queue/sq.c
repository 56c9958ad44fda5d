/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The send queue: a ring of WQEs with three indices, done <= exec <= post. WQEs before exec are on their way to the
 * peer, and those before done are completed; polling a completion frees their slots.
 */
#include "device/device.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "memory/mw.h"
#include "process/cancel.h"
#include "process/counters.h"
#include "process/log.h"
#include "queue/qp.h"
#include "queue/send_op.h"
#include "queue/wire.h"

#include <errno.h>
#include <string.h>

struct wqe *sq_oldest(struct softdev_qp *qp)
{
	return qp->sq.done == qp->sq.post ? NULL : sq_at(qp, qp->sq.done);
}

void qp_free_slots(const struct cqe *polled)
{
	struct softdev_qp *qp = polled->qp;

	if (polled->shared_receive)
		srq_release(polled->shared_receive);
	else /* pairs with the acquire in has_room() of the queue */
		atomic_store_explicit(polled->is_send ? &qp->sq.freed : &qp->rq.freed, polled->freed,
				      memory_order_release);
}

typedef void push_function(struct softdev_cq *cq, const struct cqe *entry, bool solicited);

/* Completes the oldest WQE. */
static void complete_one(struct softdev_qp *qp, enum ibv_wc_status status, push_function *push)
{
	struct wqe *wqe = sq_at(qp, qp->sq.done);
	bool signalled = qp->sq_sig_all || (wqe->flags & IBV_SEND_SIGNALED);

	if ((wqe->op->flags & SEND_OP_RESPONSE) && qp->sq.exec != qp->sq.done && wqe->via_wire)
		qp->sq.reads_outstanding--;
	qp->sq.done++;
	if ((int32_t)(qp->sq.exec - qp->sq.done) < 0)
		qp->sq.exec = qp->sq.done;
	if ((int32_t)(qp->sq.started - qp->sq.done) < 0)
		qp->sq.started = qp->sq.done;
	if (signalled || status != IBV_WC_SUCCESS) {
		struct cqe entry = {
			.wc = {.wr_id = wqe->wr_id,
			       .status = status,
			       .opcode = wqe->op->completion,
			       .byte_len = wqe->length,
			       .qp_num = qp->base.qp_num},
			.qp = qp,
			.freed = qp->sq.done,
			.is_send = true,
		};

		push(qp->send_cq, &entry, false);
	}
}

void sq_complete(struct softdev_qp *qp, enum ibv_wc_status status)
{
	if (status != IBV_WC_SUCCESS)
		log_info("qp %06x: %s", qp->base.qp_num, softverbs_ibv_wc_status_str(status));
	qp->requester.retry_deadline_ns = 0;
	if (qp->sq.copying)
		qp->sq.late_status = status; /* the copy still writes to the sink, so the completion waits */
	else
		complete_one(qp, status, cq_push);
	if (status != IBV_WC_SUCCESS)
		qp_enter_send_error(qp);
	else
		sq_tell_if_drained(qp);
}

void sq_complete_all(struct softdev_qp *qp, unsigned int count)
{
	pthread_mutex_lock(&qp->send_cq->lock);
	while (count--)
		complete_one(qp, IBV_WC_SUCCESS, cq_add);
	pthread_mutex_unlock(&qp->send_cq->lock);
	qp->requester.retry_deadline_ns = 0;
	sq_tell_if_drained(qp);
}

bool sq_is_drained(const struct softdev_qp *qp)
{
	return !qp->sq.running && qp->sq.exec == qp->sq.done && (int32_t)(qp->sq.started - qp->sq.done) <= 0;
}

void sq_tell_if_drained(struct softdev_qp *qp)
{
	if (!qp->sq.tell_drained || atomic_load(&qp->state) != IBV_QPS_SQD || !sq_is_drained(qp))
		return;
	qp->sq.tell_drained = false;
	qp_raise(qp, QP_ASYNC_DRAINED);
}

void sq_flush(struct softdev_qp *qp)
{
	enum ibv_wc_status first = qp->sq.late_status;

	if (first != IBV_WC_SUCCESS && qp->sq.done != qp->sq.post)
		complete_one(qp, first, cq_push);
	qp->sq.late_status = IBV_WC_SUCCESS;
	while (qp->sq.done != qp->sq.post)
		complete_one(qp, IBV_WC_WR_FLUSH_ERR, cq_push);
}

static bool has_room(struct softdev_qp *qp)
{
	uint32_t freed = atomic_load_explicit(&qp->sq.freed, memory_order_acquire);

	return qp->sq.post - freed < qp->cap.max_send_wr;
}

static uint64_t total_length(const struct ibv_sge *sge, int count)
{
	uint64_t total = 0;

	for (int i = 0; i < count; i++)
		total += sge[i].length;
	return total;
}

/* Checks what makes ibv_post_send() fail. 0 or a positive errno. */
static int check_wr(const struct softdev_qp *qp, const struct ibv_send_wr *wr, const struct send_op *op)
{
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length;

	if (!op || (is_inline && !(op->flags & SEND_OP_INLINE)))
		return EINVAL;
	if (op->flags & SEND_OP_NO_LIST)
		return 0;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	length = total_length(wr->sg_list, wr->num_sge);
	return is_inline && length > qp->cap.max_inline_data ? EINVAL : 0;
}

static void copy_inline(struct wqe *wqe, const struct ibv_send_wr *wr)
{
	uint8_t *out = wqe->inline_data;

	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(out, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		out += wr->sg_list[i].length;
	}
}

_Static_assert(sizeof(struct atomic_operands) <= DEVICE_MIN_INLINE, "the inline room of every slot");
_Static_assert(sizeof(struct mw_bind_request) <= DEVICE_MIN_INLINE, "the inline room of every slot");

/* Stores the operands of an atomic or a bind in the room for inline data. 0 or a positive errno. */
static int take_operands(struct wqe *wqe, const struct ibv_send_wr *wr)
{
	const struct atomic_operands operands = {wr->wr.atomic.compare_add, wr->wr.atomic.swap};
	struct mw_bind_request bind;
	int error = 0;

	if ((wqe->op->flags & SEND_OP_ATOMIC) && (wqe->op->flags & SEND_OP_OPERANDS)) {
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		memcpy(wqe->inline_data, &operands, sizeof(operands));
	} else if (wqe->op->completion == IBV_WC_BIND_MW) {
		error = mw_take_request(&bind, wr);
		memcpy(wqe->inline_data, &bind, error ? 0 : sizeof(bind));
	}
	return error;
}

/* Checks what makes the request complete with an error. Returns that status or IBV_WC_SUCCESS. */
static enum ibv_wc_status refusal(const struct softdev_qp *qp, const struct send_op *op, uint64_t length)
{
	if (!send_op_suits(op, qp->base.qp_type))
		return IBV_WC_LOC_QP_OP_ERR;
	return length > DEVICE_MAX_MESSAGE || ((op->flags & SEND_OP_ATOMIC) && length != sizeof(uint64_t))
		       ? IBV_WC_LOC_LEN_ERR
		       : IBV_WC_SUCCESS;
}

/* Fills the next slot. 0 or a positive errno. */
static int fill_wqe(struct softdev_qp *qp, const struct ibv_send_wr *wr, const struct send_op *op)
{
	uint32_t index = qp->sq.post & qp->sq.mask;
	struct wqe *wqe = &qp->sq.slots[index];
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length;

	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->op = op;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->imm_data;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->num_sge = op->flags & SEND_OP_NO_LIST ? 0 : wr->num_sge;
	length = total_length(wr->sg_list, wqe->num_sge);
	wqe->refused = refusal(qp, op, length);
	wqe->length = wqe->refused == IBV_WC_SUCCESS ? length : 0;
	wqe->sge = qp->sq.sges + (size_t)index * qp->cap.max_send_sge;
	wqe->inline_data = is_inline || (op->flags & SEND_OP_OPERANDS)
				   ? qp->sq.inline_data + (size_t)index * qp->cap.max_inline_data
				   : NULL;
	wqe->started = wqe->unreadable = wqe->via_wire = wqe->key_asked = false;
	wqe->fault = NULL;
	wqe->received = 0;
	if (is_inline)
		copy_inline(wqe, wr);
	else if (wqe->num_sge)
		memcpy(wqe->sge, wr->sg_list, wqe->num_sge * sizeof(*wr->sg_list));
	if (wqe->refused != IBV_WC_SUCCESS)
		return 0;
	return qp->transport->take_request ? qp->transport->take_request(qp, index, wr) : take_operands(wqe, wr);
}

/* Called with qp->lock held. 0 or a positive errno. */
static int post_one(struct softdev_qp *qp, const struct ibv_send_wr *wr)
{
	const struct send_op *op = send_op_find(wr->opcode);
	int state = atomic_load(&qp->state);
	const struct fault *fault;
	int error;

	if (state != IBV_QPS_RTS && state != IBV_QPS_SQD && state != IBV_QPS_SQE &&
	    state != IBV_QPS_ERR)
		return EINVAL;
	error = check_wr(qp, wr, op);
	if (error)
		return error;
	fault = fault_check(FAULT_POST_SEND, .kind = wr->opcode, .qpn = qp->base.qp_num,
			    .length = total_length(wr->sg_list, op->flags & SEND_OP_NO_LIST ? 0 : wr->num_sge));
	if (fault)
		error = fault->error;
	if (!error && !has_room(qp))
		error = ENOMEM;
	if (!error)
		error = fill_wqe(qp, wr, op);
	if (error)
		return error;
	qp->sq.post++;
	return 0;
}

void sq_run(struct softdev_qp *qp)
{
	int cancel = cancel_put_off(); /* a run may reach cancellation points: it reads files and sends datagrams */

	qp->transport->run(qp);
	cancel_restore(cancel);
}

/* Counts and executes the requests from index `first` on. Called with qp->lock held, which it releases for a while. */
static void start_posted(struct softdev_qp *qp, uint32_t first)
{
	uint32_t signalled = 0;

	for (uint32_t i = first; i != qp->sq.post; i++)
		signalled += qp->sq_sig_all || (sq_at(qp, i)->flags & IBV_SEND_SIGNALED);
	COUNT_ADD(send_wr_posted, qp->sq.post - first);
	COUNT_ADD(send_wr_signalled, signalled);
	if (atomic_load(&qp->state) == IBV_QPS_ERR || atomic_load(&qp->state) == IBV_QPS_SQE)
		qp_flush(qp);
	else
		sq_run(qp);
}

/* Posts the requests of a list up to the first that it cannot post, *bad; without `bad` it then posts none. */
static int post(struct softdev_qp *qp, const struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int error = 0;

	HOLD_LOCK(&qp->lock);
	uint32_t first = qp->sq.post;

	for (; wr; wr = wr->next) {
		error = post_one(qp, wr);
		if (error)
			break;
	}
	if (error && bad)
		*bad = (struct ibv_send_wr *)wr;
	else if (error)
		qp->sq.post = first; /* the lock was held, so no thread has seen them */
	start_posted(qp, first);
	return error;
}

int qp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	if (!is_inherited(qp->context))
		return post(to_qp(qp), wr, bad_wr);
	*bad_wr = wr;
	return EIO;
}

int sq_post_all(struct softdev_qp *qp, const struct ibv_send_wr *wr)
{
	return is_inherited(qp->base.context) ? EIO : post(qp, wr, NULL);
}

int qp_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = bind->send_flags,
		.bind_mw = {.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info},
	};
	uint32_t old = mw->rkey;
	int error;

	mw->rkey = wr.bind_mw.rkey; /* set before a completion can be seen */
	error = sq_post_all(to_qp(qp), &wr);
	if (error)
		mw->rkey = old;
	return error;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The responder of a queue pair: executes the peer's requests in order. */
#include "fault/fault.h"
#include "lock.h"
#include "memory/mw.h"
#include "process/log.h"
#include "transport/responder_internal.h"
#include "transport/wrong_keys.h"

#include <errno.h>

void responder_close(struct softdev_qp *qp)
{
	struct link *link = qp->responder.link;

	qp->responder.link = NULL;
	qp->responder.disk_wait = NULL;
	qp->responder.receiving = false;
	if (link)
		link_close_after_flush(link);
}

static void answer(struct softdev_qp *qp, enum wire_op op, uint32_t seq, uint16_t status)
{
	struct frame frame = {.op = op, .seq = seq, .status = status};

	if (!qp->responder.link || is_unreliable(qp))
		return;
	link_send(qp->responder.link, &frame, NULL, NULL, 0);
	link_flush(qp->responder.link);
}

/* Counts a wrong key. An unreliable connection survives a limited number of them. */
static void count_wrong_key(struct softdev_qp *qp)
{
	if (!qp->responder.link)
		return;
	if (!qp->responder.question_counted)
		wrong_keys_count(qp->responder.link);
	qp->responder.question_counted = false;
	if (is_unreliable(qp) && wrong_keys_exceeded(qp->responder.link))
		responder_close(qp);
}

bool responder_count_question(struct softdev_qp *qp)
{
	if (wrong_keys_exceeded(qp->responder.link)) {
		responder_close(qp);
		return false;
	}
	wrong_keys_count(qp->responder.link);
	qp->responder.question_counted = true;
	return true;
}

void responder_refuse(struct softdev_qp *qp, uint32_t seq, enum ibv_wc_status status, enum ibv_wc_status own)
{
	static const enum qp_async events[] = {
		[IBV_WC_REM_ACCESS_ERR] = QP_ASYNC_ACCESS_ERR,
		[IBV_WC_REM_INV_REQ_ERR] = QP_ASYNC_REQ_ERR,
		[IBV_WC_REM_OP_ERR] = QP_ASYNC_FATAL,
	};
	const struct ibv_wc wc = {.status = own, .opcode = IBV_WC_RECV};

	if (status == IBV_WC_REM_ACCESS_ERR)
		count_wrong_key(qp);
	if (is_unreliable(qp) && own != IBV_WC_LOC_PROT_ERR)
		return;
	log_info("qp %06x refuses request %u: status %d", qp->base.qp_num, seq, status);
	if (!qp->responder.silent)
		answer(qp, WIRE_NAK, seq, status);
	HOLD_LOCK(&qp->lock);
	if (!responder_is_ready(qp))
		return;
	if (own != IBV_WC_SUCCESS && rq_next(qp))
		rq_complete(qp, &wc, true);
	else
		qp_raise(qp, events[status]);
	qp_enter_error(qp);
}

/*
 * Discards the incoming payload and then refuses the request, with `peers` for the peer and `own` for the receive that
 * it took. Called with qp->lock held.
 */
static void fail_request(struct softdev_qp *qp, enum ibv_wc_status peers, enum ibv_wc_status own)
{
	qp->responder.receiving = false;
	qp->responder.dropping = true;
	qp->responder.nak = peers;
	qp->responder.own_status = own;
}

/* Returns true if a fault prevents the request from being executed. Called with qp->lock held. */
static bool fault_takes_receive(struct softdev_qp *qp, const struct frame *frame)
{
	bool takes_receive = frame->op == WIRE_SEND || (frame->flags & WIRE_FLAG_IMM);
	const struct fault *fault = takes_receive && rq_next(qp) ? fault_check(FAULT_RECV, .qpn = qp->base.qp_num,
									      .length = frame->length)
								: NULL;

	if (fault && fault->rnr)
		qp->responder.nak = IBV_WC_RNR_RETRY_EXC_ERR;
	else if (fault && fault->status)
		fail_request(qp, IBV_WC_REM_OP_ERR, fault->status);
	return fault && (fault->rnr || fault->status);
}

/* Called with qp->lock held. */
static void begin_send(struct softdev_qp *qp, const struct frame *frame)
{
	struct rqe *rqe = rq_next(qp);

	if (!rqe) {
		qp->responder.nak = IBV_WC_RNR_RETRY_EXC_ERR;
	} else if (frame->length > rqe->length) {
		fail_request(qp, IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR);
	} else {
		qp->responder.receiving = true;
		qp->responder.dropping = false;
	}
}

bool responder_allows(const struct softdev_qp *qp, uint32_t rkey, uint64_t address, uint64_t length,
		       unsigned int access)
{
	struct softdev_mr *mr;

	if (!length)
		return true;
	if (mr_acquire_for(qp->pd, qp_generation(qp), rkey, address, length, access, &mr))
		return false;
	mr_release(mr);
	return true;
}

/* Returns the status of the receive that a refused WRITE takes; only a WRITE with immediate data takes one. */
static enum ibv_wc_status own_status_of_write(bool with_imm)
{
	return with_imm ? IBV_WC_LOC_ACCESS_ERR : IBV_WC_SUCCESS;
}

/* Called with qp->lock held. */
static void begin_write(struct softdev_qp *qp, const struct frame *frame)
{
	bool with_imm = frame->flags & WIRE_FLAG_IMM;

	if (!(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		fail_request(qp, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SUCCESS);
	else if (with_imm && !rq_next(qp))
		qp->responder.nak = IBV_WC_RNR_RETRY_EXC_ERR;
	else if (!responder_allows(qp, frame->rkey, frame->remote_addr, frame->length,
			     IBV_ACCESS_REMOTE_WRITE))
		fail_request(qp, IBV_WC_REM_ACCESS_ERR, own_status_of_write(with_imm));
	else
		qp->responder.dropping = false;
}

bool responder_expects(struct softdev_qp *qp, const struct frame *frame)
{
	if (!responder_is_ready(qp) || (!is_unreliable(qp) && frame->seq != qp->responder.expected_seq))
		return false;
	if (atomic_load(&qp->state) == IBV_QPS_RTR && !qp->responder.established) {
		qp->responder.established = true;
		qp_raise(qp, QP_ASYNC_COMM_EST);
	}
	return true;
}

static bool flags_are_valid(const struct softdev_qp *qp, const struct frame *frame)
{
	if (frame->flags & ~WIRE_FLAGS)
		return false;
	return !(frame->flags & WIRE_FLAG_INVALIDATE) ||
	       (frame->op == WIRE_SEND && !(frame->flags & WIRE_FLAG_IMM) && !is_unreliable(qp));
}

/*
 * Invalidates the window that the SEND names, if it names one; returns false if that fails. Called with qp->lock held.
 */
static bool invalidates(const struct softdev_qp *qp, const struct frame *frame)
{
	return !(frame->flags & WIRE_FLAG_INVALIDATE) || mw_invalidate(qp_generation(qp), frame->imm);
}

static bool on_header(struct link *link, void *owner, const struct frame *frame)
{
	struct softdev_qp *qp = owner;
	struct responder *responder = &qp->responder;

	(void)link;
	if (frame->op != WIRE_SEND && frame->op != WIRE_WRITE)
		return false;
	HOLD_LOCK(&qp->lock);
	responder->dropping = true;
	responder->receiving = false;
	responder->nak = responder->own_status = IBV_WC_SUCCESS;
	responder->with_imm = frame->flags & WIRE_FLAG_IMM;
	responder->seq = frame->seq;
	responder->rkey = frame->rkey;
	responder->address = frame->remote_addr;
	responder->total = frame->length;
	if (!responder_expects(qp, frame))
		return true;
	if (frame->length > DEVICE_MAX_MESSAGE || !flags_are_valid(qp, frame))
		fail_request(qp, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SUCCESS);
	else if (fault_is_on() && fault_takes_receive(qp, frame))
		;
	else if (frame->op == WIRE_SEND)
		begin_send(qp, frame);
	else
		begin_write(qp, frame);
	return true;
}

static int sink(struct link *link, void *owner, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct softdev_qp *qp = owner;
	struct responder *responder = &qp->responder;
	struct rqe *rqe;
	int count;

	(void)link;
	HOLD_LOCK(&qp->lock);
	if (!responder_is_ready(qp))
		responder->dropping = true;
	if (responder->dropping)
		return 0;
	rqe = responder->receiving ? rq_next(qp) : NULL; /* a WRITE takes no receive before its end */
	if (!rqe)
		count = sge_hold_remote(qp->pd, qp_generation(qp), responder->rkey, responder->address + offset,
					responder->total - offset, IBV_ACCESS_REMOTE_WRITE, iov,
					&qp->slice);
	else
		count = sge_hold_slice(rq_pd(qp), rqe->sge, rqe->num_sge, offset, responder->total,
				       IBV_ACCESS_LOCAL_WRITE, iov, max_iov < SGE_MAX ? max_iov : SGE_MAX, &qp->slice);
	if (count > 0) {
		qp_busy_begin(qp);
		return count;
	}
	if (responder->receiving)
		fail_request(qp, IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR);
	else
		fail_request(qp, IBV_WC_REM_ACCESS_ERR, own_status_of_write(responder->with_imm));
	return 0;
}

static void sunk(struct link *link, void *owner, ssize_t bytes)
{
	struct softdev_qp *qp = owner;

	(void)link;
	sge_release(&qp->slice);
	HOLD_LOCK(&qp->lock);
	qp_busy_end(qp);
	if (bytes == -EFAULT && responder_is_ready(qp))
		fail_request(qp, IBV_WC_REM_OP_ERR,
			     qp->responder.receiving ? IBV_WC_LOC_PROT_ERR
						     : own_status_of_write(qp->responder.with_imm));
}

/* Ends a SEND or WRITE whose payload has arrived: answers it, then completes the receive. */
static void end_payload(struct softdev_qp *qp, const struct frame *frame)
{
	struct responder *responder = &qp->responder;
	bool is_send = frame->op == WIRE_SEND;
	bool takes_receive = is_send || (frame->flags & WIRE_FLAG_IMM);
	struct ibv_wc wc = {
		.status = IBV_WC_SUCCESS,
		.opcode = is_send ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM,
		.byte_len = frame->length,
		.imm_data = frame->imm,
		.wc_flags = (frame->flags & WIRE_FLAG_IMM ? IBV_WC_WITH_IMM : 0) |
			    (frame->flags & WIRE_FLAG_INVALIDATE ? IBV_WC_WITH_INV : 0),
	};

	if (responder->dropping) {
		if (responder->nak == IBV_WC_RNR_RETRY_EXC_ERR)
			answer(qp, WIRE_RNR_NAK, frame->seq, qp->attr.min_rnr_timer);
		else if (responder->nak != IBV_WC_SUCCESS)
			responder_refuse(qp, frame->seq, responder->nak, responder->own_status);
		return;
	}
	/* What is answered must be completed whatever happens to the state, so `busy` keeps the flush waiting. */
	pthread_mutex_lock(&qp->lock);
	if (!responder_is_ready(qp)) {
		pthread_mutex_unlock(&qp->lock);
		return;
	}
	if (!invalidates(qp, frame)) {
		responder->silent = true;
		pthread_mutex_unlock(&qp->lock);
		responder_refuse(qp, frame->seq, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
		return;
	}
	qp_busy_begin(qp);
	pthread_mutex_unlock(&qp->lock);
	responder->receiving = false;
	responder->expected_seq++;
	/* The answer goes first, because the application may exit as soon as it has seen the completion. */
	answer(qp, WIRE_ACK, frame->seq, 0);
	/*
	 * The peer's ACK of our SEND arrives on the other link, and its reply to that SEND on this one. Our SEND must
	 * complete before the reply does, so the other link is read first.
	 */
	if (takes_receive && qp->requester.link)
		link_receive(qp->requester.link);
	pthread_mutex_lock(&qp->lock);
	if (takes_receive && rq_next(qp))
		rq_complete(qp, &wc, frame->flags & WIRE_FLAG_SOLICITED);
	qp_busy_end(qp);
	pthread_mutex_unlock(&qp->lock);
}

static void on_frame(struct link *link, void *owner, const struct frame *frame, const void *payload,
		     const int *fds, int fd_count)
{
	struct softdev_qp *qp = owner;

	(void)link;
	link_close_fds(fds, fd_count);
	switch (frame->op) {
	case WIRE_SEND:
	case WIRE_WRITE:
		end_payload(qp, frame);
		break;
	case WIRE_READ:
		responder_read(qp, frame);
		break;
	case WIRE_COMPARE_SWAP:
	case WIRE_FETCH_ADD:
	case WIRE_ATOMIC_WRITE:
		responder_atomic(qp, frame, payload);
		break;
	case WIRE_FILE_REQUEST:
		responder_share_files(qp, frame, payload);
		break;
	default:
		responder_refuse(qp, frame->seq, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SUCCESS);
	}
}

static void on_close(struct link *link, void *owner, int error)
{
	struct softdev_qp *qp = owner;

	(void)link;
	(void)error;
	qp->responder.link = NULL;
	qp->responder.disk_wait = NULL;
	qp->responder.passed_files = false;
	qp->responder.receiving = false;
}

const struct link_ops responder_ops = {
	.qp_number = qp_number_of,
	.on_frame = on_frame,
	.on_close = on_close,
	.on_header = on_header,
	.sink = sink,
	.sunk = sunk,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* What the requester sends: one frame for each request, whose payload is fetched from the regions while it is sent. */
#include "lock.h"
#include "queue/qp.h"
#include "queue/send_op.h"
#include "transport/requester_internal.h"
#include "queue/wire.h"

#include <errno.h>

static struct wqe *wqe_of(struct link_stream *stream)
{
	return container_of_(stream, struct wqe, stream);
}

/* The WQE's own memory is invalid, so it fails once the requests before it are answered. Called with qp->lock held. */
static int local_error(struct softdev_qp *qp, struct wqe *wqe)
{
	wqe->unreadable = true;
	requester_fail_unreadable(qp);
	return is_sending_state(qp) ? -LINK_STALL : -ECANCELED;
}

void requester_fail_unreadable(struct softdev_qp *qp)
{
	const struct wqe *oldest = sq_oldest(qp);

	if (oldest && oldest->unreadable && is_outstanding(qp) && is_sending_state(qp))
		sq_complete(qp, IBV_WC_LOC_PROT_ERR);
}

static int payload_source(struct link_stream *stream, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct wqe *wqe = wqe_of(stream);
	struct softdev_qp *qp = wqe->qp;
	int count = 1;

	HOLD_LOCK(&qp->lock);
	if (!is_sending_state(qp))
		return -ECANCELED;
	if (wqe->inline_data)
		iov[0] = (struct iovec){wqe->inline_data + offset, wqe->length - offset};
	else
		count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, offset, wqe->length, 0, iov,
				       max_iov < SGE_MAX ? max_iov : SGE_MAX, &qp->slice);
	if (count < 0)
		return local_error(qp, wqe);
	if (count)
		qp_busy_begin(qp);
	return count;
}

static int payload_sourced(struct link_stream *stream, ssize_t bytes)
{
	struct wqe *wqe = wqe_of(stream);
	struct softdev_qp *qp = wqe->qp;

	sge_release(&qp->slice);
	HOLD_LOCK(&qp->lock);
	qp_busy_end(qp);
	if (bytes > 0)
		qp->requester.last_answer_ns = progress_now_ns();
	return bytes == -EFAULT ? local_error(qp, wqe) : 0;
}

static void payload_done(struct link_stream *stream, bool complete)
{
	struct wqe *wqe = wqe_of(stream);
	struct softdev_qp *qp = wqe->qp;

	(void)complete; /* incomplete means that the link has failed */
	HOLD_LOCK(&qp->lock);
	wqe->streams--;
	if (!is_unreliable(qp))
		return;
	uc_complete_sent(qp);
	if (qp->sq.exec != qp->sq.post)
		progress_post(&qp->task);
}

void requester_init(struct softdev_qp *qp)
{
	for (uint32_t i = 0; i <= qp->sq.mask; i++) {
		qp->sq.slots[i].qp = qp;
		qp->sq.slots[i].stream = (struct link_stream){payload_source, payload_sourced, payload_done, NULL};
	}
}

bool requester_list_is_valid(const struct softdev_qp *qp, const struct wqe *wqe)
{
	for (int i = 0; i < wqe->num_sge; i++) {
		struct softdev_mr *mr;

		if (!wqe->sge[i].length)
			continue;
		if (mr_acquire(qp->pd, KEY_LOCAL, wqe->sge[i].lkey, wqe->sge[i].addr,
			       wqe->sge[i].length, 0, &mr))
			return false;
		mr_release(mr);
	}
	return true;
}

static int send_payload(struct softdev_qp *qp, struct wqe *wqe, const struct frame *frame)
{
	int error;

	/*
	 * Without answers, a UC request counts as sent only when its stream is written; copying it would let the queue
	 * grow without limit.
	 */
	if ((wqe->inline_data || !wqe->length) && !is_unreliable(qp))
		return link_send(qp->requester.link, frame, wqe->inline_data, NULL, 0);
	error = link_send_stream(qp->requester.link, frame, &wqe->stream);
	wqe->streams += !error;
	return error;
}

/* Sends a READ or an atomic. Called with qp->lock held. */
static bool send_question(struct softdev_qp *qp, struct wqe *wqe, struct frame *frame)
{
	int error;

	if (qp->sq.reads_outstanding >= qp->attr.max_rd_atomic)
		return false;
	frame->length = wqe->inline_data ? sizeof(struct atomic_operands) : 0;
	frame->total = wqe->length;
	wqe->via_wire = true;
	wqe->received = 0;
	error = link_send(qp->requester.link, frame, wqe->inline_data, NULL, 0);
	qp->sq.reads_outstanding += !error;
	return !error;
}

/* Queues the frame. Returns false if that is not possible now or has failed. Called with qp->lock held. */
static bool send_request(struct softdev_qp *qp, struct wqe *wqe)
{
	bool is_question = wqe->op->flags & SEND_OP_RESPONSE;
	struct frame frame = {
		.op = wqe->op->wire,
		.seq = qp->sq.next_seq,
		.length = wqe->length,
		.rkey = wqe->rkey,
		.remote_addr = wqe->remote_addr,
		.imm = wqe->imm,
		.flags = wqe->op->wire_flags | (wqe->flags & IBV_SEND_SOLICITED ? WIRE_FLAG_SOLICITED : 0),
	};

	/*
	 * The sink of an answer is checked when the answer arrives, as on hardware, so that the responder's refusal
	 * takes precedence.
	 */
	if (!is_question && !wqe->inline_data && !requester_list_is_valid(qp, wqe)) {
		if (!is_outstanding(qp))
			sq_complete(qp, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	return is_question ? send_question(qp, wqe, &frame) : !send_payload(qp, wqe, &frame);
}

bool requester_send(struct softdev_qp *qp, struct wqe *wqe)
{
	if (!is_outstanding(qp))
		qp->requester.last_answer_ns = progress_now_ns();
	if (!send_request(qp, wqe))
		return false;
	wqe->seq = qp->sq.next_seq++;
	return true;
}

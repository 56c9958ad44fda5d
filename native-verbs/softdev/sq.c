/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The send queue: a ring of WQEs with three indices, done <= exec <= post. WQEs before exec are on their way
 * to the peer, those before done are completed; their slots come back when a completion is polled.
 */
#include "counters.h"
#include "exports.h"
#include "fault.h"
#include "log.h"
#include "peer.h"
#include "qp.h"
#include "send_op.h"
#include "shortcut.h"
#include "wire.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* So much at a time; a thread that posts may be given work by others all the while. */
#define COPIED_PER_TURN (4u << 20)
#define COPIED_PER_POST (64u << 20)

static struct wqe *wqe_at(struct softdev_qp *qp, uint32_t index)
{
	return &qp->sq[index % qp->cap.max_send_wr];
}

struct wqe *sq_oldest(struct softdev_qp *qp)
{
	return qp->sq_done == qp->sq_post ? NULL : wqe_at(qp, qp->sq_done);
}

void qp_free_slots(struct softdev_qp *qp, bool of_send_queue, uint32_t freed)
{
	/* pairs with has_room() of each queue */
	atomic_store_explicit(of_send_queue ? &qp->sq_freed : &qp->rq_freed, freed, memory_order_release);
}

/* Completes the oldest WQE. */
static void complete_one(struct softdev_qp *qp, enum ibv_wc_status status)
{
	struct wqe *wqe = wqe_at(qp, qp->sq_done);
	bool signalled = qp->sq_sig_all || (wqe->flags & IBV_SEND_SIGNALED);

	if ((wqe->op->flags & SEND_OP_RESPONSE) && qp->sq_exec != qp->sq_done && wqe->via_wire)
		qp->reads_outstanding--;
	qp->sq_done++;
	if ((int32_t)(qp->sq_exec - qp->sq_done) < 0)
		qp->sq_exec = qp->sq_done;
	if (signalled || status != IBV_WC_SUCCESS) {
		struct cqe entry = {
			.wc = {.wr_id = wqe->wr_id,
			       .status = status,
			       .opcode = wqe->op->completion,
			       .byte_len = wqe->length,
			       .qp_num = qp->base.qp_num},
			.qp = qp,
			.freed = qp->sq_done,
			.is_send = true,
		};

		cq_push(qp->send_cq, &entry, false);
	}
}

void sq_complete(struct softdev_qp *qp, enum ibv_wc_status status)
{
	if (status != IBV_WC_SUCCESS)
		log_info("qp %06x: %s", qp->base.qp_num, softverbs_ibv_wc_status_str(status));
	qp->retry_deadline_ns = 0;
	if (qp->copying)
		qp->late_status = status; /* the sink is the application's after the completion: not yet */
	else
		complete_one(qp, status);
	if (status != IBV_WC_SUCCESS)
		qp_enter_error(qp);
	else
		sq_tell_if_drained(qp);
}

bool sq_is_drained(const struct softdev_qp *qp)
{
	return !qp->sq_running && qp->sq_exec == qp->sq_done;
}

void sq_tell_if_drained(struct softdev_qp *qp)
{
	if (!qp->tell_drained || atomic_load(&qp->state) != IBV_QPS_SQD || !sq_is_drained(qp))
		return;
	qp->tell_drained = false;
	qp_raise(qp, QP_ASYNC_DRAINED);
}

void sq_flush(struct softdev_qp *qp)
{
	enum ibv_wc_status first = qp->late_status;

	if (first != IBV_WC_SUCCESS && qp->sq_done != qp->sq_post)
		complete_one(qp, first);
	qp->late_status = IBV_WC_SUCCESS;
	while (qp->sq_done != qp->sq_post)
		complete_one(qp, IBV_WC_WR_FLUSH_ERR);
}

static bool has_room(struct softdev_qp *qp)
{
	uint32_t freed = atomic_load_explicit(&qp->sq_freed, memory_order_acquire);

	return qp->sq_post - freed < qp->cap.max_send_wr;
}

/* What can be told to be wrong with a request when it is posted. 0 or a positive errno. */
static int check_wr(const struct softdev_qp *qp, const struct ibv_send_wr *wr, const struct send_op *op)
{
	if (!op || ((wr->send_flags & IBV_SEND_INLINE) && !(op->flags & SEND_OP_INLINE)))
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge ||
	    (wr->num_sge && !wr->sg_list))
		return EINVAL;
	return 0;
}

static uint64_t total_length(const struct ibv_sge *sge, int count)
{
	uint64_t total = 0;

	for (int i = 0; i < count; i++)
		total += sge[i].length;
	return total;
}

static void copy_inline(struct wqe *wqe, const struct ibv_send_wr *wr)
{
	uint8_t *out = wqe->inline_data;

	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(out, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		out += wr->sg_list[i].length;
	}
}

/* qp->lock held. 0 or a positive errno. */
static int post_one(struct softdev_qp *qp, const struct ibv_send_wr *wr)
{
	const struct fault *fault = fault_check(FAULT_POST_SEND);
	const struct send_op *op = send_op_find(wr->opcode, qp->base.qp_type);
	int state = atomic_load(&qp->state);
	uint32_t index = qp->cap.max_send_wr ? qp->sq_post % qp->cap.max_send_wr : 0;
	bool is_inline = wr->send_flags & IBV_SEND_INLINE;
	uint64_t length;
	struct wqe *wqe;
	int error;

	if (fault && fault->error)
		return fault->error;
	if (state != IBV_QPS_RTS && state != IBV_QPS_SQD && state != IBV_QPS_ERR)
		return EINVAL;
	error = check_wr(qp, wr, op);
	if (error)
		return error;
	length = total_length(wr->sg_list, wr->num_sge);
	if (length > DEVICE_MAX_MESSAGE || (is_inline && length > qp->cap.max_inline_data))
		return EINVAL;
	if (!has_room(qp))
		return ENOMEM;
	wqe = &qp->sq[index];
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->op = op;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->imm_data;
	wqe->rkey = wr->wr.rdma.rkey;
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->length = length;
	wqe->num_sge = wr->num_sge;
	wqe->sge = qp->sq_sges + (size_t)index * qp->cap.max_send_sge;
	wqe->inline_data = NULL;
	wqe->started = wqe->via_wire = wqe->file_asked = false;
	wqe->fault = NULL;
	wqe->received = 0;
	if (is_inline) {
		wqe->inline_data = qp->sq_inline + (size_t)index * qp->cap.max_inline_data;
		copy_inline(wqe, wr);
	} else if (wr->num_sge) {
		memcpy(wqe->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	}
	qp->sq_post++;
	COUNT(send_wr_posted);
	if (qp->sq_sig_all || (wr->send_flags & IBV_SEND_SIGNALED))
		COUNT(send_wr_signalled);
	return 0;
}

int qp_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
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
	} else {
		sq_run(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return error;
}

/* Once for each READ, what does SOFTVERBS_FAULT want of it? */
static void ask_for_fault(struct softdev_qp *qp, struct wqe *wqe)
{
	wqe->started = true;
	wqe->fault = fault_check(FAULT_READ);
	if (!wqe->fault || !wqe->fault->kill_peer)
		return;
	if (qp->peer_pid > 0 && qp->peer_pid != getpid()) /* 0: of another PID namespace */
		kill(qp->peer_pid, SIGKILL);
	else
		log_error("killpeer: the peer has no process of its own here (pid %d)", (int)qp->peer_pid);
}

/* The status that a READ ends with before it is tried, or IBV_WC_SUCCESS. */
static enum ibv_wc_status early_status(const struct softdev_qp *qp, const struct wqe *wqe)
{
	if (!qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	if (wqe->fault && wqe->fault->status > 0)
		return wqe->fault->status;
	return IBV_WC_SUCCESS;
}

void sq_complete_read(struct softdev_qp *qp)
{
	const struct wqe *wqe = sq_oldest(qp);

	if (wqe->fault && wqe->fault->flip)
		read_spoil(wqe);
	sq_complete(qp, IBV_WC_SUCCESS);
}

/* Tries the oldest READ without the peer's help; drops the lock meanwhile. True when that settled it. */
static bool try_shortcut(struct softdev_qp *qp, struct wqe *wqe)
{
	struct peer *peer = peer_hold(qp->peer);
	enum shortcut_result result;
	uint32_t generation_slot = qp->peer_qp_slot;
	uint64_t generation = qp->peer_qp_generation;

	qp->copying = true;
	pthread_mutex_unlock(&qp->lock);
	result = shortcut_read(qp, wqe, peer, generation_slot, generation);
	peer_release(peer);
	pthread_mutex_lock(&qp->lock);
	qp->copying = false;
	if (atomic_load(&qp->state) != IBV_QPS_RTS)
		return true;
	if (qp->requester != REQUESTER_OPEN && result != SHORTCUT_DONE && result != SHORTCUT_DONE_ASK_FILE)
		return true; /* once more after the next connect */
	switch (result) {
	case SHORTCUT_DONE_ASK_FILE:
		qp->wanted_file = wqe->rkey >> 16;
		progress_post(&qp->task);
		/* fall through */
	case SHORTCUT_DONE:
		sq_complete_read(qp);
		return true;
	case SHORTCUT_NEEDS_FILE:
		if (wqe->file_asked)
			break;
		wqe->file_asked = true;
		qp->waits_for_file = true;
		qp->wanted_file = wqe->rkey >> 16;
		progress_post(&qp->task);
		return true;
	case SHORTCUT_REFUSED:
		break;
	}
	COUNT(fallbacks);
	wqe->via_wire = true;
	return false;
}

static bool may_execute(struct softdev_qp *qp)
{
	return atomic_load(&qp->state) == IBV_QPS_RTS && qp->sq_exec != qp->sq_post &&
	       !qp->rnr_waiting && !qp->waits_for_file;
}

void sq_run(struct softdev_qp *qp)
{
	bool on_progress_thread = progress_on_thread();
	uint64_t copied = 0;

	if (qp->sq_running)
		return;
	qp->sq_running = true;
	qp_busy_begin(qp);
	while (may_execute(qp)) {
		struct wqe *wqe = wqe_at(qp, qp->sq_exec);
		bool is_read = wqe->op->wire == WIRE_READ, is_oldest = qp->sq_exec == qp->sq_done;

		if (qp->requester != REQUESTER_OPEN) {
			if (!on_progress_thread && !qp->retry_waiting)
				progress_post(&qp->task);
			break;
		}
		if (copied >= (on_progress_thread ? COPIED_PER_TURN : COPIED_PER_POST)) {
			progress_post(&qp->task);
			break;
		}
		if (is_read && !wqe->started)
			ask_for_fault(qp, wqe);
		if (is_read && early_status(qp, wqe) != IBV_WC_SUCCESS) {
			if (!is_oldest)
				break;
			sq_complete(qp, early_status(qp, wqe));
			continue;
		}
		if (is_read && qp->peer && !wqe->via_wire) {
			if (!is_oldest)
				break; /* it waits for its turn, then goes the short way */
			copied += wqe->length;
			if (try_shortcut(qp, wqe))
				continue;
		}
		if (!on_progress_thread) {
			progress_post(&qp->task);
			break;
		}
		if (!requester_send(qp, wqe))
			break;
		qp->sq_exec++;
	}
	qp->sq_running = false;
	sq_tell_if_drained(qp);
	qp_busy_end(qp);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes the send queue in order: what a short cut can serve at once, and the rest as frames sent by the progress
 * thread.
 */
#include "queue/qp_fault.h"
#include "lock.h"
#include "memory/mw.h"
#include "process/counters.h"
#include "process/log.h"
#include "queue/qp.h"
#include "queue/send_op.h"
#include "transport/peer.h"
#include "transport/requester_internal.h"
#include "transport/shortcut.h"
#include "queue/wire.h"

/* Limits for one run, because other threads may keep giving work to the thread that posts. */
#define COPIED_PER_TURN (4u << 20)
#define COPIED_PER_POST (64u << 20)

/* Returns the status with which a request completes without being tried, or IBV_WC_SUCCESS. */
static enum ibv_wc_status early_status(const struct softdev_qp *qp, const struct wqe *wqe)
{
	if (wqe->refused != IBV_WC_SUCCESS)
		return wqe->refused;
	if ((wqe->op->flags & SEND_OP_RESPONSE) && !qp->attr.max_rd_atomic)
		return IBV_WC_LOC_QP_OP_ERR;
	if (wqe->fault && wqe->fault->status)
		return wqe->fault->status;
	return IBV_WC_SUCCESS;
}

void sq_complete_read(struct softdev_qp *qp)
{
	const struct wqe *wqe = sq_oldest(qp);

	if (wqe->fault)
		fault_spoil_read(wqe);
	sq_complete(qp, IBV_WC_SUCCESS);
}

/*
 * Collects the READs that may share a system call: small ones, from the oldest on, that the responder need not serve.
 */
static unsigned int gather(struct softdev_qp *qp, const struct wqe **reads)
{
	uint64_t bytes = 0;
	unsigned int count;

	if (fault_is_on()) /* faults apply to single READs */
		return 0;
	for (count = 0; count < SHORTCUT_BATCH && qp->sq.exec + count != qp->sq.post; count++) {
		reads[count] = sq_at(qp, qp->sq.exec + count);
		bytes += reads[count]->length;
		if (reads[count]->op->wire != WIRE_READ || reads[count]->via_wire || bytes > SGE_SLICE_BYTES)
			break;
	}
	return count;
}

/*
 * Tries the oldest READ without the peer's help, and those behind it that may share its system call; releases the lock
 * for a while. Returns false if the peer must serve the READ.
 */
static bool try_shortcut(struct softdev_qp *qp, struct wqe *wqe, uint64_t *copied)
{
	struct peer *peer = peer_hold(qp->requester.peer);
	const struct target_peer from = shortcut_source(qp);
	const struct wqe *reads[SHORTCUT_BATCH];
	unsigned int count = gather(qp, reads), done = 0;
	enum shortcut_result result = SHORTCUT_DONE;
	bool together;

	qp->sq.copying = true;
	pthread_mutex_unlock(&qp->lock);
	if (count > 1)
		done = shortcut_read_batch(qp, reads, count, peer, &from);
	if (!done) {
		reads[0] = wqe;
		result = shortcut_read(qp, wqe, peer, &from);
		done = result == SHORTCUT_DONE;
	}
	peer_release(peer);
	pthread_mutex_lock(&qp->lock);
	qp->sq.copying = false;
	together = done > 1 && !fault_is_on();
	if (atomic_load(&qp->state) != IBV_QPS_RTS)
		return true;
	for (unsigned int i = 0; i < done; i++) {
		*copied += reads[i]->length;
		if (!together)
			sq_complete_read(qp);
	}
	if (together)
		sq_complete_all(qp, done);
	if (done || qp->requester.state != REQUESTER_OPEN)
		return true; /* what is not done is tried again after the next connect */
	if (result == SHORTCUT_UNKNOWN_KEY && !wqe->key_asked) {
		qp->requester.waits_for_key = true;
		progress_post(&qp->task);
		return true;
	}
	COUNT(fallbacks);
	wqe->via_wire = true;
	return false;
}

/* The task of the worker. Nothing frees the queue pair, because it is busy. */
void transport_run_on_worker(void *owner)
{
	struct softdev_qp *qp = owner;

	HOLD_LOCK(&qp->lock);
	qp->sq.handed_over = false;
	sq_run(qp);
	qp_busy_end(qp);
}

/*
 * The progress thread must not wait for the disk that a READ comes from, or for the owner's memory that is on one. Returns
 * false if it has to.
 */
static bool hand_over(struct softdev_qp *qp)
{
	if (qp->sq.handed_over)
		return true;
	qp->sq.handed_over = workers_run(&qp->reader);
	if (qp->sq.handed_over)
		qp_busy_begin(qp);
	return qp->sq.handed_over;
}

static enum ibv_wc_status execute_local(struct softdev_qp *qp, const struct wqe *wqe)
{
	struct mw_bind_request bind;

	if (wqe->op->completion == IBV_WC_LOCAL_INV)
		return mw_invalidate(qp_generation(qp), wqe->imm) ? IBV_WC_SUCCESS : IBV_WC_MW_BIND_ERR;
	memcpy(&bind, wqe->inline_data, sizeof(bind));
	return mw_bind(qp->pd, qp_generation(qp), &bind);
}

static bool may_execute(struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	/* In SQD, what has been sent once is sent again if the peer was not ready for it. */
	return (state == IBV_QPS_RTS || (state == IBV_QPS_SQD && (int32_t)(qp->sq.started - qp->sq.exec) > 0)) &&
	       qp->sq.exec != qp->sq.post && !qp->requester.rnr_waiting && !qp->requester.waits_for_key;
}

/* Returns true if IBV_SEND_FENCE holds the request back, because it may send what an earlier READ or atomic brings. */
static bool is_fenced(const struct softdev_qp *qp, const struct wqe *wqe)
{
	return (wqe->flags & IBV_SEND_FENCE) && qp->sq.reads_outstanding;
}

void transport_run(struct softdev_qp *qp)
{
	bool on_progress_thread = progress_on_thread();
	uint64_t copied = 0;

	if (qp->sq.running)
		return;
	qp->sq.running = true;
	qp_busy_begin(qp);
	while (may_execute(qp)) {
		struct wqe *wqe = sq_at(qp, qp->sq.exec);
		bool is_read = wqe->op->wire == WIRE_READ, is_oldest = qp->sq.exec == qp->sq.done;

		if (qp->requester.state != REQUESTER_OPEN && !(wqe->op->flags & SEND_OP_LOCAL)) {
			if (!on_progress_thread && !qp->requester.retry_waiting)
				progress_post(&qp->task);
			break;
		}
		if (copied >= (on_progress_thread ? COPIED_PER_TURN : COPIED_PER_POST)) {
			progress_post(&qp->task);
			break;
		}
		if (!wqe->started)
			fault_start_wr(qp, wqe);
		if (early_status(qp, wqe) != IBV_WC_SUCCESS) {
			if (!is_oldest)
				break;
			sq_complete(qp, early_status(qp, wqe));
			continue;
		}
		if (wqe->op->flags & SEND_OP_LOCAL) {
			if (!is_oldest)
				break;
			if (on_progress_thread) {
				sq_complete(qp, execute_local(qp, wqe));
				continue;
			}
		} else if (is_read && qp->requester.peer && !wqe->via_wire) {
			if (!is_oldest)
				break; /* waits to become the oldest, then takes the short cut */
			if (on_progress_thread && hand_over(qp))
				break;
			if (try_shortcut(qp, wqe, &copied))
				continue;
		}
		if (!on_progress_thread) {
			progress_post(&qp->task);
			break;
		}
		if (is_fenced(qp, wqe) || !requester_send(qp, wqe))
			break;
		qp->sq.exec++;
		if ((int32_t)(qp->sq.exec - qp->sq.started) > 0)
			qp->sq.started = qp->sq.exec;
	}
	qp->sq.running = false;
	sq_tell_if_drained(qp);
	qp_busy_end(qp);
}

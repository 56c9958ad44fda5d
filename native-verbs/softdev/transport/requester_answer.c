/* SPDX-License-Identifier: Apache-2.0 */
/* What the requester receives: answers, the data of READs, and the end of its link. */
#define _GNU_SOURCE
#include "lock.h"
#include "process/counters.h"
#include "process/log.h"
#include "process/settings.h"
#include "queue/qp.h"
#include "queue/send_op.h"
#include "queue/wire.h"
#include "transport/peer.h"
#include "transport/requester_internal.h"

#include <errno.h>
#include <unistd.h>

enum { OTHER_FRAMES = 16 }; /* frames other than requests that may wait */

/* Converts an RNR timer code (InfiniBand specification, table 45); the table is in units of 10 us. */
static uint64_t rnr_ns(uint32_t code)
{
	static const uint32_t units[32] = {65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,  32,
					   48,	  64,  96,  128, 192,  256,  384,  512,  768,  1024,
					   1536,  2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
					   32768, 49152};

	return units[code] * 10000ull;
}

/* Returns the oldest WQE if this answer is for it, otherwise NULL. Called with qp->lock held. */
static struct wqe *answered(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe = sq_oldest(qp);

	return wqe && is_outstanding(qp) && wqe->seq == frame->seq ? wqe : NULL;
}

void requester_count(const struct wqe *wqe)
{
	struct softdev_qp *qp = wqe->qp;

	if (wqe->op->wire == WIRE_READ) {
		COUNT(reads_wire);
		COUNT_ADD(read_bytes_wire, wqe->length);
		if (link_peer(qp->requester.link)->is_tcp) {
			COUNT(reads_tcp);
			COUNT_ADD(read_bytes_tcp, wqe->length);
		}
	} else if (wqe->op->wire == WIRE_WRITE) {
		COUNT(writes);
		COUNT_ADD(write_bytes, wqe->length);
	} else if (wqe->op->wire == WIRE_SEND) {
		COUNT(sends);
		COUNT_ADD(send_bytes, wqe->length);
	} else {
		COUNT(atomics);
	}
}

/*
 * Fails the connection because of the peer: the link is reliable and in order, so the answer breaks the protocol.
 * Called with qp->lock held.
 */
static void on_bad_response(struct softdev_qp *qp, const struct frame *frame)
{
	log_warn("qp %06x: the peer's answer %u, sequence %u, is not one to any request", qp->base.qp_num,
		 frame->op, frame->seq);
	requester_fail_oldest(qp, IBV_WC_BAD_RESP_ERR);
}

/* As answered(), but only if the request has been sent completely. Called with qp->lock held. */
static struct wqe *answered_whole(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe = answered(qp, frame);

	return wqe && !wqe->streams ? wqe : NULL;
}

/* Returns true if a request with this number has been sent and not answered. Called with qp->lock held. */
static bool is_outstanding_seq(struct softdev_qp *qp, uint32_t seq)
{
	return is_outstanding(qp) && (int32_t)(seq - sq_oldest(qp)->seq) >= 0 &&
	       (int32_t)(seq - qp->sq.next_seq) < 0;
}

/* Called with qp->lock held. */
static void on_ack(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe;

	if (!is_outstanding_seq(qp, frame->seq)) {
		on_bad_response(qp, frame);
		return;
	}
	qp->requester.rnr_retries_left = qp->attr.rnr_retry;
	while ((wqe = sq_oldest(qp)) && is_outstanding(qp) && (int32_t)(wqe->seq - frame->seq) <= 0) {
		bool lacks_data = (wqe->op->flags & SEND_OP_RESPONSE) && wqe->received < wqe->length;

		if (lacks_data || wqe->streams) {
			on_bad_response(qp, frame);
			return;
		}
		requester_count(wqe);
		if (wqe->op->wire == WIRE_READ)
			sq_complete_read(qp);
		else
			sq_complete(qp, IBV_WC_SUCCESS);
	}
	requester_fail_unreadable(qp);
}

/* Called with qp->lock held. */
static void on_nak(struct softdev_qp *qp, const struct frame *frame)
{
	bool known = frame->status == IBV_WC_REM_ACCESS_ERR || frame->status == IBV_WC_REM_INV_REQ_ERR ||
		     frame->status == IBV_WC_REM_OP_ERR;

	if (known && answered_whole(qp, frame))
		sq_complete(qp, frame->status);
	else
		on_bad_response(qp, frame);
}

/* Called with qp->lock held. */
static void on_rnr_nak(struct softdev_qp *qp, const struct frame *frame)
{
	/*
	 * A peer that answers RNR_NAK has read the request, so only requests posted after it can still be in the queue.
	 */
	bool reads = link_frames_waiting(qp->requester.link) <= qp->sq.mask + 1 + OTHER_FRAMES;

	if (!answered_whole(qp, frame) || frame->status > 31 || !reads) {
		on_bad_response(qp, frame);
		return;
	}
	if (!qp->requester.rnr_retries_left) {
		sq_complete(qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->attr.rnr_retry != 7) /* 7 = for ever */
		qp->requester.rnr_retries_left--;
	qp->requester.rnr_waiting = true;
	qp->sq.exec = qp->sq.done;
	qp->sq.next_seq = frame->seq;
	qp->sq.reads_outstanding = 0;
	requester_set_timer(qp, progress_now_ns() + rnr_ns(frame->status));
}

/* Called with qp->lock held. */
static void on_read_data(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe = answered(qp, frame);

	/* Only the ACK completes it: the responder may still find that it had to send zeros. */
	if (wqe)
		wqe->received += frame->length;
}

/*
 * Keeps what the peer says about its keys, except about a generation that is over: a READ of that goes over the wire.
 * Called with qp->lock held.
 */
static void on_file_reply(struct softdev_qp *qp, const struct frame *frame, const struct wire_key *keys, const int *fds,
			  int fd_count)
{
	unsigned int count = qp->requester.peer ? frame->length / sizeof(*keys) : 0;
	int used = 0;

	/* The link passes on regular files only, and fewer of them if this process has too many descriptors. */
	for (unsigned int i = 0; i < count; i++) {
		int fd = keys[i].has_file && used < fd_count ? fds[used++] : -1;

		if (fd >= 0 && (keys[i].status || path_mode() == PATH_CMA)) {
			close(fd);
			fd = -1;
		}
		if (keys[i].status != ESTALE)
			peer_file_add(qp->requester.peer, keys[i].rkey, keys[i].generation, !keys[i].status, fd);
	}
	link_close_fds(fds + used, fd_count - used);
	qp->requester.waits_for_key = false;
}

static const char *way_of_reads(const struct softdev_qp *qp)
{
	if (link_peer(qp->requester.link)->is_tcp)
		return "as frames, for it is reached by TCP";
	if (path_mode() == PATH_WIRE)
		return "as frames, for SOFTVERBS_PATH wants it";
	if (!qp->requester.peer)
		return "as frames, for it shows no table of its regions: another user or build, or short of descriptors";
	return peer_has_cma(qp->requester.peer) ? "by process_vm_readv" : "by file, and as frames where there is none";
}

/* Returns false if the peer is not ready. Called with qp->lock held. */
static bool on_open_reply(struct softdev_qp *qp, const struct frame *frame, const void *payload,
			  const int *fds, int fd_count)
{
	const struct qp_open_reply *reply = payload;
	char text[INET6_ADDRSTRLEN];
	bool opened = !frame->status && frame->length == sizeof(*reply) && reply->qp_slot < TABLE_QP_SLOTS;

	if (opened) {
		progress_timer_cancel(&qp->timer);
		qp->requester.state = REQUESTER_OPEN;
		qp->requester.was_open = true;
		qp->requester.retry_deadline_ns = 0;
		qp->requester.peer_pid = link_peer(qp->requester.link)->pid;
		qp->requester.peer_slot = reply->qp_slot;
		qp->requester.peer_generation = reply->qp_generation;
		if (fd_count && path_mode() != PATH_WIRE) {
			qp->requester.peer = peer_open(link_peer(qp->requester.link)->nonce, qp->requester.peer_pid,
					     reply->cookie_address, fds[0]);
			fds++;
			fd_count--;
		}
		COUNT(connections);
		if (link_peer(qp->requester.link)->is_tcp)
			COUNT(connections_tcp);
		log_info("qp %06x: connected to %06x of %s; READs go %s", qp->base.qp_num, qp->attr.dest_qp_num,
			 gid_text(&qp->attr.ah_attr.grh.dgid, text), way_of_reads(qp));
	}
	link_close_fds(fds, fd_count);
	return opened;
}

/* Handles the answer to a request of the send queue. Called with qp->lock held. */
static void on_answer(struct softdev_qp *qp, const struct frame *frame)
{
	if (frame->op == WIRE_READ_DATA)
		on_read_data(qp, frame);
	else if (frame->length || (frame->op != WIRE_ACK && frame->op != WIRE_NAK && frame->op != WIRE_RNR_NAK))
		on_bad_response(qp, frame);
	else if (frame->op == WIRE_ACK)
		on_ack(qp, frame);
	else if (frame->op == WIRE_NAK)
		on_nak(qp, frame);
	else
		on_rnr_nak(qp, frame);
}

static void on_frame(struct link *link, void *owner, const struct frame *frame, const void *payload,
		     const int *fds, int fd_count)
{
	struct softdev_qp *qp = owner;
	bool ready = true, is_answer;

	pthread_mutex_lock(&qp->lock);
	/* A frame that was not asked for does not prove that the peer answers. */
	is_answer = frame->op != WIRE_FILE_REVOKE && (frame->op != WIRE_FILE_REPLY || qp->requester.waits_for_key);
	if (frame->op == WIRE_QP_OPEN_REPLY && qp->requester.state == REQUESTER_CONNECTING) {
		ready = on_open_reply(qp, frame, payload, fds, fd_count);
	} else if (frame->op == WIRE_FILE_REPLY) {
		on_file_reply(qp, frame, payload, fds, fd_count);
	} else {
		link_close_fds(fds, fd_count);
		if (frame->op == WIRE_FILE_REVOKE && qp->requester.peer)
			peer_files_revoke(qp->requester.peer);
		else if (frame->op != WIRE_FILE_REVOKE && is_sending_state(qp) && !is_unreliable(qp))
			on_answer(qp, frame);
	}
	if (is_answer)
		qp->requester.last_answer_ns = progress_now_ns();
	if (!ready) {
		qp->requester.link = NULL;
		requester_forget_peer(qp);
		requester_retry_later(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	if (!ready)
		link_close(link);
	else
		requester_task(qp);
}

static void on_close(struct link *link, void *owner, int error)
{
	struct softdev_qp *qp = owner;
	bool died;

	(void)link;
	HOLD_LOCK(&qp->lock);
	qp->requester.link = NULL;
	died = is_outstanding(qp) || error == EACCES || error == EPROTO || error == EPROTONOSUPPORT ||
	       (qp->requester.was_open && (error == ECONNREFUSED || error == 0));
	requester_forget_peer(qp);
	if (!sq_oldest(qp) || !is_sending_state(qp))
		return;
	if (is_unreliable(qp))
		uc_lose(qp);
	else if (died)
		requester_peer_gone(qp);
	else
		requester_retry_later(qp);
}

static bool on_header(struct link *link, void *owner, const struct frame *frame)
{
	struct softdev_qp *qp = owner;
	struct wqe *wqe;

	(void)link;
	if (frame->op != WIRE_READ_DATA)
		return false;
	HOLD_LOCK(&qp->lock);
	wqe = answered(qp, frame);
	if (is_sending_state(qp) &&
	    (!wqe || !(wqe->op->flags & SEND_OP_RESPONSE) || frame->arg != wqe->received ||
	     frame->total != wqe->length || frame->length > wqe->length - wqe->received ||
	     (!frame->length && wqe->length)))
		on_bad_response(qp, frame);
	return true;
}

static int sink(struct link *link, void *owner, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct softdev_qp *qp = owner;
	struct wqe *wqe;
	int count;

	(void)link;
	HOLD_LOCK(&qp->lock);
	wqe = sq_oldest(qp);
	if (!wqe || !is_sending_state(qp))
		return 0;
	count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, wqe->received + offset, wqe->length,
			       IBV_ACCESS_LOCAL_WRITE, iov, max_iov < SGE_MAX ? max_iov : SGE_MAX, &qp->slice);
	if (count <= 0) {
		sq_complete(qp, IBV_WC_LOC_PROT_ERR);
		return 0;
	}
	qp_busy_begin(qp);
	return count;
}

static void sunk(struct link *link, void *owner, ssize_t bytes)
{
	struct softdev_qp *qp = owner;

	(void)link;
	sge_release(&qp->slice);
	HOLD_LOCK(&qp->lock);
	qp_busy_end(qp);
	if (bytes > 0)
		qp->requester.last_answer_ns = progress_now_ns();
	else if (bytes == -EFAULT && is_sending_state(qp))
		requester_fail_oldest(qp, IBV_WC_LOC_PROT_ERR);
}

const struct link_ops requester_ops = {
	.qp_number = qp_number_of,
	.on_frame = on_frame,
	.on_close = on_close,
	.on_header = on_header,
	.sink = sink,
	.sunk = sunk,
};

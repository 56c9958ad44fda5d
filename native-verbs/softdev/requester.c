/* SPDX-License-Identifier: Apache-2.0 */
/* The connecting half of a queue pair: its link to the responder, the answers, retries and timeouts. */
#include "counters.h"
#include "log.h"
#include "peer.h"
#include "qp.h"
#include "wire.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define MS 1000000ull

/* The answer may come late on a busy host; its death is noticed otherwise. */
#define MIN_ANSWER_NS (2000 * MS)
#define MIN_RETRY_NS (1 * MS)
#define MAX_RETRY_NS (50 * MS)

static const struct link_ops requester_ops;

/* One timeout of the verbs specification, 4.096 us * 2^n; 0 = for ever. */
static uint64_t timeout_ns(const struct softdev_qp *qp)
{
	return qp->attr.timeout ? 4096ull << qp->attr.timeout : 0;
}

static uint64_t all_timeouts_ns(const struct softdev_qp *qp)
{
	return timeout_ns(qp) * (qp->attr.retry_cnt + 1);
}

/* The RNR timer codes, in units of 10 us (InfiniBand specification, table 45). */
static uint64_t rnr_ns(uint32_t code)
{
	static const uint32_t units[32] = {65536, 1,   2,   3,   4,    6,    8,    12,   16,   24,  32,
					   48,	  64,  96,  128, 192,  256,  384,  512,  768,  1024,
					   1536,  2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
					   32768, 49152};

	return units[code & 31] * 10000ull;
}

static bool is_sending_state(const struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	return state == IBV_QPS_RTS || state == IBV_QPS_SQD;
}

static bool is_outstanding(const struct softdev_qp *qp)
{
	return qp->sq_exec != qp->sq_done;
}

static bool awaits_answer(const struct softdev_qp *qp)
{
	return is_outstanding(qp) || qp->waits_for_file;
}

/* qp->lock held. */
static void forget_peer(struct softdev_qp *qp)
{
	if (qp->peer)
		peer_release(qp->peer);
	qp->peer = NULL;
	qp->requester = REQUESTER_DOWN;
	qp->waits_for_file = false;
	qp->wanted_file = 0;
}

void requester_close(struct softdev_qp *qp)
{
	struct link *link = qp->out;

	progress_timer_cancel(&qp->timer);
	qp->out = NULL;
	pthread_mutex_lock(&qp->lock);
	forget_peer(qp);
	pthread_mutex_unlock(&qp->lock);
	if (link)
		link_close(link);
}

static void on_timer(void *owner);

static void set_timer(struct softdev_qp *qp, uint64_t deadline_ns)
{
	qp->timer.callback = on_timer;
	qp->timer.owner = qp;
	progress_timer_set(&qp->timer, deadline_ns);
}

/* qp->lock held: waits for an answer if there is anything to wait for. */
static void watch_for_answer(struct softdev_qp *qp)
{
	uint64_t limit = all_timeouts_ns(qp);

	if (!limit || !awaits_answer(qp) || qp->rnr_waiting || qp->retry_waiting || qp->timer.armed)
		return;
	set_timer(qp, qp->last_answer_ns + (limit < MIN_ANSWER_NS ? MIN_ANSWER_NS : limit));
}

static uint64_t retry_deadline(const struct softdev_qp *qp)
{
	uint64_t limit = all_timeouts_ns(qp);

	return limit ? progress_now_ns() + limit : UINT64_MAX;
}

/* qp->lock held: the peer is not there, or not ready. Try again until the retries are used up. */
static void retry_later(struct softdev_qp *qp)
{
	uint64_t now = progress_now_ns();
	uint64_t step = timeout_ns(qp);

	if (qp->sq_done == qp->sq_post || !is_sending_state(qp))
		return; /* the next post tries again */
	if (!qp->retry_deadline_ns)
		qp->retry_deadline_ns = retry_deadline(qp);
	if (now >= qp->retry_deadline_ns) {
		sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	if (step < MIN_RETRY_NS)
		step = MIN_RETRY_NS;
	if (!timeout_ns(qp) || step > MAX_RETRY_NS)
		step = MAX_RETRY_NS;
	qp->retry_waiting = true;
	set_timer(qp, now + step < qp->retry_deadline_ns ? now + step : qp->retry_deadline_ns);
}

static void on_timer(void *owner)
{
	struct softdev_qp *qp = owner;
	uint64_t limit;

	pthread_mutex_lock(&qp->lock);
	if (qp->retry_waiting || qp->rnr_waiting) {
		qp->retry_waiting = qp->rnr_waiting = false;
		pthread_mutex_unlock(&qp->lock);
		requester_task(qp);
		return;
	}
	if (qp->requester == REQUESTER_CONNECTING) { /* it listens, and does not answer */
		link_close(qp->out);
		qp->out = NULL;
		forget_peer(qp);
		retry_later(qp);
		pthread_mutex_unlock(&qp->lock);
		return;
	}
	limit = all_timeouts_ns(qp);
	if (limit < MIN_ANSWER_NS)
		limit = MIN_ANSWER_NS;
	if (awaits_answer(qp) && is_sending_state(qp) && progress_now_ns() - qp->last_answer_ns >= limit)
		sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
	else
		watch_for_answer(qp);
	pthread_mutex_unlock(&qp->lock);
}

/* qp->lock held. */
static void start_connect(struct softdev_qp *qp)
{
	const union ibv_gid *destination = &qp->attr.ah_attr.grh.dgid;
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	const struct wqe *oldest = sq_oldest(qp);
	struct qp_open open = {
		.source_qpn = qp->base.qp_num,
		.destination_qpn = qp->attr.dest_qp_num,
		.destination_gid = *destination,
		.first_seq = qp->next_seq,
	};

	if (oldest && !qp->retry_deadline_ns)
		qp->retry_deadline_ns = retry_deadline(qp);
	if (!gid_is_local(destination)) {
		retry_later(qp);
		return;
	}
	gid_table_entry(qp->attr.ah_attr.grh.sgid_index, &open.source_gid, NULL);
	qp->out = link_connect(qp->attr.dest_qp_num >> 8, LINK_KIND_QP, &requester_ops, qp);
	if (!qp->out) {
		retry_later(qp);
		return;
	}
	qp->requester = REQUESTER_CONNECTING;
	set_timer(qp, progress_now_ns() + MIN_ANSWER_NS);
	link_send(qp->out, &frame, &open, NULL, 0);
}

/* qp->lock held. */
static void ask_for_file(struct softdev_qp *qp)
{
	uint32_t slot = qp->wanted_file;
	struct frame frame = {.op = WIRE_FILE_REQUEST, .rkey = slot};

	qp->wanted_file = 0;
	if (!slot || qp->requester != REQUESTER_OPEN || !qp->peer)
		return;
	if (!is_outstanding(qp))
		qp->last_answer_ns = progress_now_ns();
	frame.arg = atomic_load(&peer_table(qp->peer)->mr[slot].generation);
	link_send(qp->out, &frame, NULL, NULL, 0);
}

void requester_task(void *owner)
{
	struct softdev_qp *qp = owner;

	if (!is_sending_state(qp)) {
		requester_close(qp);
		if (atomic_load(&qp->state) == IBV_QPS_ERR)
			responder_close(qp);
		return;
	}
	pthread_mutex_lock(&qp->lock);
	if (qp->requester == REQUESTER_DOWN && !qp->retry_waiting && is_sending_state(qp))
		start_connect(qp);
	ask_for_file(qp);
	sq_run(qp);
	watch_for_answer(qp);
	pthread_mutex_unlock(&qp->lock);
	if (qp->out)
		link_flush(qp->out);
}

/* qp->lock held. */
static void fail_oldest(struct softdev_qp *qp, enum ibv_wc_status status)
{
	if (sq_oldest(qp))
		sq_complete(qp, status);
	else
		qp_enter_error(qp);
}

static struct wqe *wqe_of(struct link_stream *stream)
{
	return container_of_(stream, struct wqe, stream);
}

/* qp->lock held: the WQE's own memory is bad; what was posted before it may still be under way. */
static int local_error(struct softdev_qp *qp, const struct wqe *wqe)
{
	if (sq_oldest(qp) == wqe && is_sending_state(qp))
		sq_complete(qp, IBV_WC_LOC_PROT_ERR);
	else
		qp_enter_error(qp);
	return -ECANCELED;
}

static int payload_source(struct link_stream *stream, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct wqe *wqe = wqe_of(stream);
	struct softdev_qp *qp = wqe->qp;
	int count = -ECANCELED;

	pthread_mutex_lock(&qp->lock);
	if (is_sending_state(qp)) {
		count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, offset, 0, iov,
				       max_iov < SGE_MAX ? max_iov : SGE_MAX, &qp->slice);
		if (count < 0)
			count = local_error(qp, wqe);
		else
			qp_busy_begin(qp);
	}
	pthread_mutex_unlock(&qp->lock);
	return count;
}

static int payload_sourced(struct link_stream *stream, ssize_t bytes)
{
	struct wqe *wqe = wqe_of(stream);
	struct softdev_qp *qp = wqe->qp;
	int result = 0;

	sge_release(&qp->slice);
	pthread_mutex_lock(&qp->lock);
	qp_busy_end(qp);
	if (bytes > 0)
		qp->last_answer_ns = progress_now_ns();
	else if (bytes == -EFAULT)
		result = local_error(qp, wqe);
	pthread_mutex_unlock(&qp->lock);
	return result;
}

static void payload_done(struct link_stream *stream, bool complete)
{
	(void)stream;
	(void)complete;
}

void requester_init(struct softdev_qp *qp)
{
	for (uint32_t i = 0; i <= qp->sq_mask; i++) {
		qp->sq[i].qp = qp;
		qp->sq[i].stream = (struct link_stream){payload_source, payload_sourced, payload_done};
	}
}

/* Every region of the list, at this moment. */
static bool list_is_valid(const struct softdev_qp *qp, const struct wqe *wqe)
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
	if (wqe->inline_data || !wqe->length)
		return link_send(qp->out, frame, wqe->inline_data, NULL, 0);
	return link_send_stream(qp->out, frame, &wqe->stream);
}

/* qp->lock held. Queues the frame; false = not now, or failed. */
static bool send_request(struct softdev_qp *qp, struct wqe *wqe)
{
	struct frame frame = {
		.seq = qp->next_seq,
		.length = wqe->length,
		.rkey = wqe->rkey,
		.remote_addr = wqe->remote_addr,
		.imm = wqe->imm,
		.flags = wqe->flags & IBV_SEND_SOLICITED ? WIRE_FLAG_SOLICITED : 0,
	};
	int error;

	if (wqe->opcode == IBV_WR_RDMA_READ) {
		if (qp->reads_outstanding >= qp->attr.max_rd_atomic)
			return false;
		frame.op = WIRE_READ;
		frame.length = 0;
		frame.total = wqe->length;
		wqe->via_wire = true;
		wqe->received = 0;
		error = link_send(qp->out, &frame, NULL, NULL, 0);
		qp->reads_outstanding += !error;
		return !error;
	}
	if (!wqe->inline_data && !list_is_valid(qp, wqe)) {
		if (!is_outstanding(qp))
			sq_complete(qp, IBV_WC_LOC_PROT_ERR);
		return false;
	}
	frame.op = wqe->opcode == IBV_WR_SEND || wqe->opcode == IBV_WR_SEND_WITH_IMM ? WIRE_SEND
										   : WIRE_WRITE;
	if (wqe->opcode == IBV_WR_SEND_WITH_IMM || wqe->opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		frame.flags |= WIRE_FLAG_IMM;
	return !send_payload(qp, wqe, &frame);
}

bool requester_send(struct softdev_qp *qp, struct wqe *wqe)
{
	if (!is_outstanding(qp))
		qp->last_answer_ns = progress_now_ns();
	if (!send_request(qp, wqe))
		return false;
	wqe->seq = qp->next_seq++;
	return true;
}

/* qp->lock held: the oldest WQE if this answer is for it. */
static struct wqe *answered(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe = sq_oldest(qp);

	return wqe && is_outstanding(qp) && wqe->seq == frame->seq ? wqe : NULL;
}

/* qp->lock held. */
static void on_ack(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe;

	qp->rnr_retries_left = qp->attr.rnr_retry;
	while ((wqe = sq_oldest(qp)) && is_outstanding(qp) && (int32_t)(wqe->seq - frame->seq) <= 0) {
		if (wqe->opcode == IBV_WR_RDMA_READ) {
			if (wqe->received < wqe->length) {
				sq_complete(qp, IBV_WC_BAD_RESP_ERR);
				return;
			}
			COUNT(reads_wire);
			COUNT_ADD(read_bytes_wire, wqe->length);
			sq_complete_read(qp);
			continue;
		}
		if (wqe->opcode == IBV_WR_SEND || wqe->opcode == IBV_WR_SEND_WITH_IMM) {
			COUNT(sends);
			COUNT_ADD(send_bytes, wqe->length);
		} else {
			COUNT(writes);
			COUNT_ADD(write_bytes, wqe->length);
		}
		sq_complete(qp, IBV_WC_SUCCESS);
	}
}

/* qp->lock held. */
static void on_nak(struct softdev_qp *qp, const struct frame *frame)
{
	bool known = frame->status == IBV_WC_REM_ACCESS_ERR || frame->status == IBV_WC_REM_INV_REQ_ERR ||
		     frame->status == IBV_WC_REM_OP_ERR;

	fail_oldest(qp, known && answered(qp, frame) ? frame->status : IBV_WC_BAD_RESP_ERR);
}

/* qp->lock held. */
static void on_rnr_nak(struct softdev_qp *qp, const struct frame *frame)
{
	if (!answered(qp, frame))
		return;
	if (!qp->rnr_retries_left) {
		sq_complete(qp, IBV_WC_RNR_RETRY_EXC_ERR);
		return;
	}
	if (qp->attr.rnr_retry != 7) /* 7 = for ever */
		qp->rnr_retries_left--;
	qp->rnr_waiting = true;
	qp->sq_exec = qp->sq_done;
	qp->next_seq = frame->seq;
	qp->reads_outstanding = 0;
	set_timer(qp, progress_now_ns() + rnr_ns(frame->status));
}

/* qp->lock held. */
static void on_read_data(struct softdev_qp *qp, const struct frame *frame)
{
	struct wqe *wqe = answered(qp, frame);

	/* Complete only with the ACK: the responder may yet find that it had to send zeros. */
	if (wqe)
		wqe->received += frame->length;
}

/* qp->lock held. */
static void on_file_reply(struct softdev_qp *qp, const struct frame *frame, const int *fds, int fd_count)
{
	int used = qp->peer && fd_count && !frame->status;

	if (qp->peer)
		peer_file_add(qp->peer, frame->rkey, frame->arg, used ? fds[0] : -1);
	for (int i = used; i < fd_count; i++)
		close(fds[i]);
	qp->waits_for_file = false;
}

/* qp->lock held. False when the peer is not ready. */
static bool on_open_reply(struct softdev_qp *qp, const struct frame *frame, const void *payload,
			  const int *fds, int fd_count)
{
	const struct qp_open_reply *reply = payload;
	bool opened = !frame->status && frame->length == sizeof(*reply) &&
		      reply->qp_slot < TABLE_QP_SLOTS && qp->requester == REQUESTER_CONNECTING;

	if (opened) {
		progress_timer_cancel(&qp->timer);
		qp->requester = REQUESTER_OPEN;
		qp->was_open = true;
		qp->retry_deadline_ns = 0;
		qp->peer_pid = link_peer_pid(qp->out);
		qp->peer_qp_slot = reply->qp_slot;
		qp->peer_qp_generation = reply->qp_generation;
		if (fd_count && path_mode() != PATH_WIRE) {
			qp->peer = peer_open(link_peer_nonce(qp->out), qp->peer_pid,
					     reply->cookie_address, fds[0]);
			fds++;
			fd_count--;
		}
		COUNT(connections);
	}
	for (int i = 0; i < fd_count; i++)
		close(fds[i]);
	return opened;
}

static void on_frame(struct link *link, void *owner, const struct frame *frame, const void *payload,
		     const int *fds, int fd_count)
{
	struct softdev_qp *qp = owner;
	bool ready = true;

	pthread_mutex_lock(&qp->lock);
	qp->last_answer_ns = progress_now_ns();
	if (frame->op == WIRE_QP_OPEN_REPLY)
		ready = on_open_reply(qp, frame, payload, fds, fd_count);
	else if (frame->op == WIRE_FILE_REPLY)
		on_file_reply(qp, frame, fds, fd_count);
	else
		for (int i = 0; i < fd_count; i++)
			close(fds[i]);
	if (frame->op == WIRE_FILE_REVOKE && qp->peer)
		peer_file_revoke(qp->peer, frame->rkey, frame->arg);
	if (is_sending_state(qp)) {
		if (frame->op == WIRE_ACK)
			on_ack(qp, frame);
		else if (frame->op == WIRE_NAK)
			on_nak(qp, frame);
		else if (frame->op == WIRE_RNR_NAK)
			on_rnr_nak(qp, frame);
		else if (frame->op == WIRE_READ_DATA)
			on_read_data(qp, frame);
	}
	if (!ready) {
		qp->out = NULL;
		forget_peer(qp);
		retry_later(qp);
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
	pthread_mutex_lock(&qp->lock);
	qp->out = NULL;
	died = is_outstanding(qp) || error == EACCES || error == EPROTO ||
	       (qp->was_open && (error == ECONNREFUSED || error == 0));
	forget_peer(qp);
	if (!sq_oldest(qp) || !is_sending_state(qp))
		;
	else if (died)
		sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
	else
		retry_later(qp);
	pthread_mutex_unlock(&qp->lock);
}

static bool on_header(struct link *link, void *owner, const struct frame *frame)
{
	struct softdev_qp *qp = owner;
	struct wqe *wqe;

	(void)link;
	if (frame->op != WIRE_READ_DATA)
		return false;
	pthread_mutex_lock(&qp->lock);
	wqe = answered(qp, frame);
	if (is_sending_state(qp) &&
	    (!wqe || wqe->opcode != IBV_WR_RDMA_READ || frame->arg != wqe->received ||
	     frame->total != wqe->length || frame->length > wqe->length - wqe->received ||
	     (!frame->length && wqe->length)))
		fail_oldest(qp, IBV_WC_BAD_RESP_ERR);
	pthread_mutex_unlock(&qp->lock);
	return true;
}

static int sink(struct link *link, void *owner, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct softdev_qp *qp = owner;
	struct wqe *wqe;
	int count = 0;

	(void)link;
	pthread_mutex_lock(&qp->lock);
	wqe = sq_oldest(qp);
	if (wqe && is_sending_state(qp)) {
		count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, wqe->received + offset,
				       IBV_ACCESS_LOCAL_WRITE, iov, max_iov < SGE_MAX ? max_iov : SGE_MAX,
				       &qp->slice);
		if (count > 0) {
			qp_busy_begin(qp);
		} else {
			sq_complete(qp, IBV_WC_LOC_PROT_ERR);
			count = 0;
		}
	}
	pthread_mutex_unlock(&qp->lock);
	return count;
}

static void sunk(struct link *link, void *owner, ssize_t bytes)
{
	struct softdev_qp *qp = owner;

	(void)link;
	sge_release(&qp->slice);
	pthread_mutex_lock(&qp->lock);
	qp_busy_end(qp);
	if (bytes > 0)
		qp->last_answer_ns = progress_now_ns();
	else if (bytes == -EFAULT && is_sending_state(qp))
		fail_oldest(qp, IBV_WC_LOC_PROT_ERR);
	pthread_mutex_unlock(&qp->lock);
}

static const struct link_ops requester_ops = {
	.on_frame = on_frame,
	.on_close = on_close,
	.on_header = on_header,
	.sink = sink,
	.sunk = sunk,
};

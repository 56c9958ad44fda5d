/* SPDX-License-Identifier: Apache-2.0 */
/* The requester of a queue pair: its link to the responder, retries and timeouts. */
#include "queue/qp.h"
#include "queue/wire.h"
#include "transport/peer.h"
#include "transport/requester_internal.h"
#include "transport/responder_internal.h"
#include "transport/shortcut.h"

#include <string.h>

#define MS 1000000ull

/* A busy host may answer late, and the death of a peer is noticed in another way. */
#define MIN_ANSWER_NS (2000 * MS)
#define MIN_RETRY_NS (1 * MS)
#define MAX_RETRY_NS (50 * MS)
/*
 * A peer that has what it wants may exit while requests to it are under way. The delay lets the application first see
 * what the peer sent on other connections.
 */
#define GONE_NS (100 * MS)

/* Returns the timeout of the verbs specification, 4.096 us * 2^n; 0 = for ever. */
static uint64_t timeout_ns(const struct softdev_qp *qp)
{
	return qp->attr.timeout ? 4096ull << qp->attr.timeout : 0;
}

static uint64_t all_timeouts_ns(const struct softdev_qp *qp)
{
	return timeout_ns(qp) * (qp->attr.retry_cnt + 1);
}

static bool awaits_answer(const struct softdev_qp *qp)
{
	return is_outstanding(qp) || qp->requester.waits_for_key;
}

/* Called with qp->lock held. */
void requester_forget_peer(struct softdev_qp *qp)
{
	if (qp->requester.peer) {
		peer_forget_files(qp->requester.peer);
		peer_release(qp->requester.peer);
	}
	qp->requester.peer = NULL;
	qp->requester.state = REQUESTER_DOWN;
	qp->requester.waits_for_key = false;
	for (uint32_t i = 0; i <= qp->sq.mask; i++) /* the link has dropped its streams */
		qp->sq.slots[i].streams = 0;
}

void requester_close(struct softdev_qp *qp)
{
	struct link *link = qp->requester.link;
	bool was_open;

	progress_timer_cancel(&qp->timer);
	qp->requester.link = NULL;
	pthread_mutex_lock(&qp->lock);
	was_open = qp->requester.state == REQUESTER_OPEN;
	requester_forget_peer(qp);
	qp->requester.rnr_waiting = qp->requester.retry_waiting = qp->requester.peer_gone = false;
	pthread_mutex_unlock(&qp->lock);
	if (link && was_open && link_peer(link)->is_tcp)
		link_close_after_flush(link); /* a plain close() with an unread answer would reset the connection */
	else if (link)
		link_close(link);
}

static void on_timer(void *owner);

void requester_set_timer(struct softdev_qp *qp, uint64_t deadline_ns)
{
	qp->timer.callback = on_timer;
	qp->timer.owner = qp;
	progress_timer_set(&qp->timer, deadline_ns);
}

/* Returns how long the peer may send no answer and accept no data; 0 = for ever. */
static uint64_t answer_limit_ns(const struct softdev_qp *qp)
{
	uint64_t limit = all_timeouts_ns(qp);

	if (limit ? limit < MIN_ANSWER_NS : is_unreliable(qp))
		return MIN_ANSWER_NS;
	return limit;
}

/* Sets the timer if an answer is due. Called with qp->lock held. */
static void watch_for_answer(struct softdev_qp *qp)
{
	uint64_t limit = answer_limit_ns(qp);

	if (!limit || !awaits_answer(qp) || qp->requester.rnr_waiting || qp->requester.retry_waiting || progress_timer_is_set(&qp->timer))
		return;
	requester_set_timer(qp, qp->requester.last_answer_ns + limit);
}

static uint64_t retry_deadline(const struct softdev_qp *qp)
{
	uint64_t limit = all_timeouts_ns(qp);

	return limit ? progress_now_ns() + limit : UINT64_MAX;
}

/* Called with qp->lock held. */
void requester_retry_later(struct softdev_qp *qp)
{
	uint64_t now = progress_now_ns();
	uint64_t step = timeout_ns(qp);

	if (qp->sq.done == qp->sq.post || !is_sending_state(qp))
		return; /* the next post tries again */
	if (is_unreliable(qp)) {
		uc_lose(qp);
		return;
	}
	if (!qp->requester.retry_deadline_ns)
		qp->requester.retry_deadline_ns = retry_deadline(qp);
	if (now >= qp->requester.retry_deadline_ns) {
		sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
		return;
	}
	if (step < MIN_RETRY_NS)
		step = MIN_RETRY_NS;
	if (!timeout_ns(qp) || step > MAX_RETRY_NS)
		step = MAX_RETRY_NS;
	qp->requester.retry_waiting = true;
	requester_set_timer(qp, now + step < qp->requester.retry_deadline_ns ? now + step : qp->requester.retry_deadline_ns);
}

/* Called with qp->lock held. */
void requester_peer_gone(struct softdev_qp *qp)
{
	uint64_t limit = all_timeouts_ns(qp);

	qp->requester.retry_waiting = qp->requester.peer_gone = true;
	requester_set_timer(qp, progress_now_ns() + (limit && limit < GONE_NS ? limit : GONE_NS));
}

/* Called with qp->lock held. */
static bool answer_is_late(const struct softdev_qp *qp)
{
	uint64_t limit = answer_limit_ns(qp);

	return limit && awaits_answer(qp) && is_sending_state(qp) &&
	       progress_now_ns() - qp->requester.last_answer_ns >= limit;
}

/*
 * Reads the link, because a slow one brings too little at a time to wake this thread. Called with qp->lock held, which
 * it releases for a while.
 */
static void look_for_signs_of_life(struct softdev_qp *qp)
{
	uint64_t now, ago;

	pthread_mutex_unlock(&qp->lock);
	link_receive(qp->requester.link);
	pthread_mutex_lock(&qp->lock);
	if (!qp->requester.link)
		return;
	now = progress_now_ns();
	ago = link_taken_ago_ns(qp->requester.link);
	if (ago < now && now - ago > qp->requester.last_answer_ns)
		qp->requester.last_answer_ns = now - ago;
}

static void on_timer(void *owner)
{
	struct softdev_qp *qp = owner;
	bool is_late, was_connecting;

	pthread_mutex_lock(&qp->lock);
	if (qp->requester.peer_gone) {
		qp->requester.retry_waiting = qp->requester.peer_gone = false;
		if (sq_oldest(qp) && is_sending_state(qp))
			sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
		pthread_mutex_unlock(&qp->lock);
		return;
	}
	if (qp->requester.retry_waiting || qp->requester.rnr_waiting) {
		qp->requester.retry_waiting = qp->requester.rnr_waiting = false;
		pthread_mutex_unlock(&qp->lock);
		requester_task(qp);
		return;
	}
	was_connecting = qp->requester.state == REQUESTER_CONNECTING;
	if (answer_is_late(qp) && qp->requester.link)
		look_for_signs_of_life(qp);
	is_late = answer_is_late(qp);
	/* In CONNECTING the timer means that the peer listens but does not answer. */
	if (qp->requester.link && (was_connecting || (is_late && is_unreliable(qp)))) {
		link_close(qp->requester.link);
		qp->requester.link = NULL;
		requester_forget_peer(qp);
		requester_retry_later(qp);
	} else if (is_late) {
		sq_complete(qp, IBV_WC_RETRY_EXC_ERR);
	} else {
		watch_for_answer(qp);
	}
	pthread_mutex_unlock(&qp->lock);
}

/* Called with qp->lock held. */
static void start_connect(struct softdev_qp *qp)
{
	const union ibv_gid *destination = &qp->attr.ah_attr.grh.dgid;
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	const struct wqe *oldest = sq_oldest(qp);
	struct qp_open open = {
		.source_qpn = qp->base.qp_num,
		.destination_qpn = qp->attr.dest_qp_num,
		.destination_gid = *destination,
		.first_seq = qp->sq.next_seq,
		.qp_type = qp->base.qp_type,
	};

	if (oldest && !qp->requester.retry_deadline_ns)
		qp->requester.retry_deadline_ns = retry_deadline(qp);
	memcpy(open.requester, qp->requester.id, sizeof(open.requester));
	gid_table_entry(qp->attr.ah_attr.grh.sgid_index, &open.source_gid, NULL);
	qp->requester.link = link_connect(&open.source_gid, destination, qp->attr.dest_qp_num >> 8, LINK_KIND_QP,
			       &requester_ops, qp);
	if (!qp->requester.link) {
		requester_retry_later(qp);
		return;
	}
	qp->requester.state = REQUESTER_CONNECTING;
	requester_set_timer(qp, progress_now_ns() + MIN_ANSWER_NS);
	link_send(qp->requester.link, &frame, &open, NULL, 0);
}

/* Asks about the key of the oldest READ, and of those behind it, in one frame. Called with qp->lock held. */
static void ask_about_keys(struct softdev_qp *qp)
{
	struct frame frame = {.op = WIRE_FILE_REQUEST};
	const struct wqe *oldest = sq_oldest(qp);
	struct wire_key keys[WIRE_KEYS];

	if (!qp->requester.waits_for_key || (oldest && oldest->key_asked))
		return;
	if (qp->requester.state == REQUESTER_OPEN && qp->requester.peer) /* not if reconnected without a table */
		frame.length = shortcut_unknown_keys(qp, keys) * sizeof(*keys);
	if (!frame.length) { /* another queue pair has learnt the key meanwhile */
		qp->requester.waits_for_key = false;
		return;
	}
	if (!is_outstanding(qp))
		qp->requester.last_answer_ns = progress_now_ns();
	link_send(qp->requester.link, &frame, keys, NULL, 0);
}

void requester_task(void *owner)
{
	struct softdev_qp *qp = owner;
	struct link *link = qp->requester.link;

	if (!is_sending_state(qp)) {
		requester_close(qp);
		if (atomic_load(&qp->state) == IBV_QPS_ERR && !qp->responder.silent)
			responder_close(qp);
		return;
	}
	if (link)
		link_begin(link);
	pthread_mutex_lock(&qp->lock);
	if (qp->requester.path_changed && !is_outstanding(qp)) {
		qp->requester.path_changed = false;
		pthread_mutex_unlock(&qp->lock);
		requester_close(qp);
		pthread_mutex_lock(&qp->lock);
	}
	/* Before its first request, too: qp_send_posted() can bring one on its way only if the link is open. */
	if (qp->requester.state == REQUESTER_DOWN && !qp->requester.retry_waiting && is_sending_state(qp))
		start_connect(qp);
	ask_about_keys(qp);
	sq_run(qp);
	watch_for_answer(qp);
	pthread_mutex_unlock(&qp->lock);
	if (qp->requester.link)
		link_flush_soon(qp->requester.link);
	if (link)
		link_end(link);
}

/* Called with qp->lock held. */
void requester_fail_oldest(struct softdev_qp *qp, enum ibv_wc_status status)
{
	if (sq_oldest(qp)) {
		sq_complete(qp, status);
	} else {
		qp_raise(qp, QP_ASYNC_FATAL);
		qp_enter_error(qp);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a connection, for both sides: how it reacts to frames, to the end of the link and to timers.
 * Progress thread only.
 */
#include <errno.h>
#include <string.h>

#include "cm/cm.h"
#include "process/log.h"

#define BUSY_WAIT_NS 100000000ull
#define TIMEWAIT_NS 50000000ull

void cm_send_op(struct cm_id *id, enum cm_frame_op op)
{
	struct frame frame = {.op = op};
	int error = id->link ? link_send(id->link, &frame, NULL, NULL, 0) : 0;

	if (error)
		log_warn("cm: frame %d not sent: %s", op, strerror(-error));
}

void cm_end(struct cm_id *id, void (*close)(struct link *link), enum cm_state state)
{
	if (id->link)
		close(id->link);
	id->link = NULL;
	progress_timer_cancel(&id->timer);
	id->state = state;
}

void cm_send_reject(struct cm_id *id, int reason, const void *private_data, uint8_t length)
{
	struct cm_reject reject = {{0}};
	struct frame frame = {
		.op = CM_FRAME_REJECT, .length = sizeof(reject), .arg = (uint64_t)reason};

	if (length)
		memcpy(reject.private_data, private_data, length);
	if (id->link)
		link_send(id->link, &frame, &reject, NULL, 0);
	cm_end(id, link_close_after_flush, CM_CLOSED);
}

void cm_abandon(struct cm_id *id)
{
	switch (id->state) {
	case CM_REQUEST_SENT:
		cm_send_reject(id, CM_REJECT_TIMEOUT, NULL, 0);
		break;
	case CM_REPLY_RECEIVED:
	case CM_REQUEST_RECEIVED:
		cm_send_reject(id, CM_REJECT_CONSUMER, NULL, 0);
		break;
	case CM_REPLY_SENT:
	case CM_CONNECTED:
		cm_send_op(id, CM_FRAME_DISCONNECT);
		break;
	case CM_DISCONNECT_RECEIVED:
		cm_send_op(id, CM_FRAME_DISCONNECTED);
		break;
	default:
		break;
	}
	cm_end(id, link_close_after_flush, CM_CLOSED);
}

void cm_fail_connect(struct cm_id *id, enum rdma_cm_event_type type, int status)
{
	if (cm_is_datagram(id) && type == RDMA_CM_EVENT_REJECTED) {
		type = RDMA_CM_EVENT_UNREACHABLE;
		status = cm_datagram_status(status);
	}
	cm_end(id, link_close, CM_CLOSED);
	cm_report(id, type, status);
}

static void on_timewait_exit(void *owner)
{
	cm_report(owner, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
}

void cm_enter_timewait(struct cm_id *id)
{
	cm_end(id, link_close_after_flush, CM_CLOSED);
	id->timer.callback = on_timewait_exit;
	progress_timer_set(&id->timer, progress_now_ns() + TIMEWAIT_NS);
}

static void end_connection(struct cm_id *id, int status)
{
	cm_report(id, RDMA_CM_EVENT_DISCONNECTED, status);
	cm_enter_timewait(id);
}

static void on_deadline(void *owner)
{
	struct cm_id *id = owner;

	if (id->state == CM_DISCONNECT_SENT) {
		end_connection(id, -ETIMEDOUT);
		return;
	}
	if (id->state == CM_REQUEST_SENT)
		cm_send_reject(id, CM_REJECT_TIMEOUT, NULL, 0);
	cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

void cm_set_deadline(struct cm_id *id, uint64_t deadline_ns)
{
	id->timer.callback = on_deadline;
	progress_timer_set(&id->timer, deadline_ns);
}

static void on_retry(void *owner)
{
	cm_open_link(owner);
}

/* The listener or its process had no room, so the id tries again until its deadline. */
static void retry_later(struct cm_id *id)
{
	if (progress_now_ns() >= id->deadline_ns) {
		cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		return;
	}
	cm_end(id, link_close, CM_LINKING);
	id->timer.callback = on_retry;
	progress_timer_set(&id->timer, progress_now_ns() + BUSY_WAIT_NS);
}

void cm_open_link(struct cm_id *id)
{
	const struct rdma_addr *addr = &id->id.route.addr;
	union ibv_gid source, destination;

	gid_from_address(&addr->src_addr, &source);
	gid_from_address(&addr->dst_addr, &destination);
	id->link = link_connect(&source, &destination, id->process_port, LINK_KIND_CM, &cm_connection_ops, id);
	if (!id->link) {
		cm_fail_connect(id, RDMA_CM_EVENT_CONNECT_ERROR, -ENOMEM);
		return;
	}
	id->state = CM_LINKING;
	cm_set_deadline(id, id->deadline_ns);
}

static void on_open(struct link *link, void *owner)
{
	struct cm_id *id = owner;
	struct cm_request request = {.version = CM_WIRE_VERSION, .datagrams = cm_is_datagram(id)};
	struct frame frame = {.op = CM_FRAME_REQUEST, .length = sizeof(request)};
	const struct rdma_addr *addr = &id->id.route.addr;
	union ibv_gid gid;

	if (memcmp(link_peer(link)->nonce, id->process_nonce, LINK_NONCE_BYTES)) {
		/* The process that answered has exited, and another one owns its port. */
		cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_NO_LISTENER);
		return;
	}
	gid_from_address(&addr->src_addr, &gid);
	memcpy(request.source, gid.raw, sizeof(gid.raw));
	gid_from_address(&addr->dst_addr, &gid);
	memcpy(request.destination, gid.raw, sizeof(gid.raw));
	request.source_port = cm_address_port(&addr->src_addr);
	request.destination_port = cm_address_port(&addr->dst_addr);
	memcpy(request.client_nonce, id->client_nonce, LINK_NONCE_BYTES);
	memcpy(request.cookie, id->cookie, CM_COOKIE_BYTES);
	request.queue_pair = id->local;
	memcpy(request.private_data, id->request_private_data, sizeof(request.private_data));
	id->state = CM_REQUEST_SENT;
	link_send(link, &frame, &request, NULL, 0);
}

void cm_take_peer(struct cm_id *id, const struct cm_queue_pair *peer, struct rdma_conn_param *param)
{
	id->remote = *peer;
	id->local.initiator_depth = param->initiator_depth = peer->responder_resources;
	id->local.responder_resources = param->responder_resources = peer->initiator_depth;
	param->flow_control = peer->flow_control;
	param->retry_count = peer->retry_count;
	param->rnr_retry_count = peer->rnr_retry_count;
	param->srq = peer->srq;
	param->qp_num = peer->number;
}

static void on_reply(struct cm_id *id, const struct cm_reply *reply)
{
	struct cm_event *event = cm_new_event(id, id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);

	if (!event) {
		cm_send_reject(id, CM_REJECT_CONSUMER, NULL, 0);
		return;
	}
	progress_timer_cancel(&id->timer);
	cm_take_peer(id, &reply->queue_pair, &event->event.param.conn);
	id->state = CM_REPLY_RECEIVED;
	cm_set_private_data(event, reply->private_data, CM_REPLY_PRIVATE_DATA);
	cm_push_event(event);
}

static void on_reject(struct cm_id *id, int reason, const struct cm_reject *reject)
{
	struct cm_event *event;

	if (id->state == CM_REPLY_RECEIVED) {
		/* Our application still considers the id connected, so it is told that the connection has ended. */
		end_connection(id, 0);
		return;
	}
	cm_end(id, link_close, CM_CLOSED);
	event = cm_new_event(id, id, RDMA_CM_EVENT_REJECTED, reason);
	if (!event)
		return;
	cm_set_private_data(event, reject->private_data, CM_REJECT_PRIVATE_DATA);
	cm_push_event(event);
}

static void on_disconnect(struct cm_id *id)
{
	switch (id->state) {
	case CM_REPLY_RECEIVED:
	case CM_REPLY_SENT:
	case CM_CONNECTED:
		progress_timer_cancel(&id->timer);
		id->state = CM_DISCONNECT_RECEIVED;
		cm_report(id, RDMA_CM_EVENT_DISCONNECTED, 0);
		break;
	case CM_DISCONNECT_SENT: /* both ends disconnected at the same time */
		cm_send_op(id, CM_FRAME_DISCONNECTED);
		end_connection(id, 0);
		break;
	default:
		break;
	}
}

static uint32_t payload_bytes(uint8_t op)
{
	switch (op) {
	case CM_FRAME_REPLY:
		return sizeof(struct cm_reply);
	case CM_FRAME_REJECT:
		return sizeof(struct cm_reject);
	default:
		return 0;
	}
}

static void on_frame(struct link *link, void *owner, const struct frame *frame, const void *payload,
		     const int *fds, int fd_count)
{
	struct cm_id *id = owner;

	(void)link;
	link_close_fds(fds, fd_count); /* no CM frame carries descriptors */
	if (frame->length != payload_bytes(frame->op))
		return;
	switch (frame->op) {
	case CM_FRAME_REPLY:
		if (id->state == CM_REQUEST_SENT && cm_is_datagram(id))
			cm_datagram_reply(id, payload);
		else if (id->state == CM_REQUEST_SENT)
			on_reply(id, payload);
		break;
	case CM_FRAME_REJECT:
		if (id->state == CM_REQUEST_SENT && cm_is_datagram(id))
			cm_datagram_reject(id, (int)frame->arg, payload);
		else if (id->state == CM_REQUEST_SENT || id->state == CM_REPLY_RECEIVED ||
			 (id->state == CM_REQUEST_RECEIVED && !cm_is_datagram(id)) || id->state == CM_REPLY_SENT)
			on_reject(id, (int)frame->arg, payload);
		break;
	case CM_FRAME_BUSY:
		if (id->state == CM_REQUEST_SENT)
			retry_later(id);
		break;
	case CM_FRAME_READY:
		if (id->state == CM_REPLY_SENT) {
			progress_timer_cancel(&id->timer);
			id->state = CM_CONNECTED;
			cm_report(id, RDMA_CM_EVENT_ESTABLISHED, 0);
		}
		break;
	case CM_FRAME_DISCONNECT:
		on_disconnect(id);
		break;
	case CM_FRAME_DISCONNECTED:
		if (id->state == CM_DISCONNECT_SENT)
			end_connection(id, 0);
		break;
	default:
		break;
	}
}

/*
 * Returns true for an error that means the other end closed the link, whether or not it left data unread, rather than
 * that the network cut the link off.
 */
static bool peer_has_died(int error)
{
	return !error || error == ECONNRESET || error == EPIPE;
}

/* The end of a link counts as what the kernel would send for a dying process: a reject or a disconnect. */
static void on_close(struct link *link, void *owner, int error)
{
	struct cm_id *id = owner;

	(void)link;
	id->link = NULL;
	switch (id->state) {
	case CM_LINKING: /* a process that has ended before its WELCOME is told from one that was busy by the next try */
		if (error == EAGAIN || peer_has_died(error)) {
			retry_later(id);
			break;
		}
		/* fallthrough */
	case CM_REQUEST_SENT:
		if (error == ECONNREFUSED)
			cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_NO_LISTENER);
		else if (peer_has_died(error))
			cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_CONSUMER);
		else
			cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -error);
		break;
	case CM_REQUEST_RECEIVED:
		if (!cm_is_datagram(id)) /* the application is not told that a client of datagrams went away */
			cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_TIMEOUT);
		break;
	case CM_REPLY_SENT:
		if (peer_has_died(error))
			cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_CONSUMER);
		else
			cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		break;
	case CM_REPLY_RECEIVED:
	case CM_CONNECTED:
	case CM_DISCONNECT_SENT:
		end_connection(id, 0);
		break;
	case CM_DISCONNECT_RECEIVED:
		cm_enter_timewait(id);
		break;
	default:
		break;
	}
}

const struct link_ops cm_connection_ops = {
	.on_open = on_open, .on_frame = on_frame, .on_close = on_close};

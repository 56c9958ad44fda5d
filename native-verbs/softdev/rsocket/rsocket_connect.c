/* SPDX-License-Identifier: Apache-2.0 */
/* How rsockets come to be, find each other and part: everything that asks rdma_cm. */
#include "rsocket.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"
#include "cm_exports.h"
#include "core.h"
#include "rsocket_exports.h"

enum { RESOLVE_TIMEOUT_MS = 5000, RETRIES = 7 };

static struct rdma_conn_param connection_of(const struct rs_hello *hello)
{
	return (struct rdma_conn_param){.private_data = hello,
					.private_data_len = sizeof(*hello),
					.retry_count = RETRIES,
					.rnr_retry_count = RETRIES};
}

static int errno_of(const struct rdma_cm_event *event, int otherwise)
{
	return event->status < 0 ? -event->status : otherwise;
}

static int connect_now(struct rsocket *rs)
{
	struct rs_hello hello = rs_hello();
	struct rdma_conn_param param = connection_of(&hello);
	int error = rs_open_queues(rs);

	if (error)
		return error;
	rs->state = RS_CONNECTING;
	return softverbs_rdma_connect(rs->id, &param) ? errno : 0;
}

static int take_event(struct rsocket *rs, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return softverbs_rdma_resolve_route(rs->id, RESOLVE_TIMEOUT_MS) ? errno : 0;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return connect_now(rs);
	case RDMA_CM_EVENT_ESTABLISHED:
		if (rs->state != RS_CONNECTING)
			return 0; /* it was accepted */
		rs->state = RS_CONNECTED;
		return rs_take_hello(rs, event->param.conn.private_data, event->param.conn.private_data_len);
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
		return errno_of(event, EHOSTUNREACH);
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return errno_of(event, ETIMEDOUT);
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return errno_of(event, ECONNRESET);
	case RDMA_CM_EVENT_DISCONNECTED:
		/* The stream is whole if the peer said so; a message of it may still be in the completion queue. */
		if (rs->cq && rs->id->qp && !rs->disconnected)
			rs_take_completions(rs);
		if (!rs->peer_ended)
			return ECONNRESET;
		rs->disconnected = true;
		return 0;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		return EIO;
	default:
		return 0;
	}
}

void rs_take_events(struct rsocket *rs)
{
	struct rdma_cm_event *event;

	while (!softverbs_rdma_get_cm_event(rs->channel, &event)) {
		int error = take_event(rs, event);

		softverbs_rdma_ack_cm_event(event);
		rs->moves++;
		if (error)
			rs_fail(rs, error);
	}
}

int softverbs_rsocket(int domain, int type, int protocol)
{
	struct rsocket *rs;

	if (domain != AF_INET && domain != AF_INET6) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	if (type != SOCK_STREAM || (protocol && protocol != IPPROTO_TCP)) {
		errno = type == SOCK_STREAM ? EPROTONOSUPPORT : ESOCKTNOSUPPORT;
		return -1;
	}
	rs = rs_open(domain, NULL);
	return rs ? rs->fd : -1;
}

int softverbs_rbind(int fd, const struct sockaddr *address, socklen_t length)
{
	struct rsocket *rs = rs_get(fd);
	struct sockaddr_storage copy = {0};
	int result = -1;

	if (!rs)
		return -1;
	if (rs->state != RS_NEW || length > sizeof(copy) || length < sizeof(address->sa_family)) {
		errno = EINVAL;
	} else {
		memcpy(&copy, address, length);
		result = softverbs_rdma_bind_addr(rs->id, (struct sockaddr *)&copy);
	}
	rs_put(rs);
	return result;
}

int softverbs_rlisten(int fd, int backlog)
{
	struct rsocket *rs = rs_get(fd);
	int result = 0;

	if (!rs)
		return -1;
	if (rs->state == RS_NEW) {
		result = softverbs_rdma_listen(rs->id, backlog);
		if (!result)
			rs->state = RS_LISTENING;
	} else if (rs->state != RS_LISTENING) {
		result = rs_result(EINVAL);
	}
	rs_put(rs);
	return result;
}

/* This process, or the machine, has no room for a connection, which its accepting thread has to know. */
static bool is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS;
}

/* The socket that serves a request, or a positive errno. The request is in `id`, whatever becomes of it. */
static int accept_request(struct rsocket *listener, struct rdma_cm_event *event, struct rsocket **accepted)
{
	struct rdma_cm_id *id = event->id;
	struct rs_hello hello = rs_hello();
	struct rdma_conn_param param = connection_of(&hello);
	struct rs_hello peer = {0};
	size_t length = event->param.conn.private_data_len;
	struct rsocket *rs;
	int error;

	if (event->param.conn.private_data && length >= sizeof(peer))
		memcpy(&peer, event->param.conn.private_data, sizeof(peer));
	softverbs_rdma_ack_cm_event(event);
	rs = rs_open(listener->domain, id);
	if (!rs) {
		error = errno;
		softverbs_rdma_reject(id, NULL, 0);
		softverbs_rdma_destroy_id(id);
		return error;
	}
	error = rs_take_hello(rs, &peer, sizeof(peer));
	if (!error)
		error = rs_open_queues(rs);
	if (error)
		softverbs_rdma_reject(id, NULL, 0);
	else if (softverbs_rdma_accept(id, &param))
		error = errno;
	if (error) {
		rs_forget(rs);
		return error;
	}
	rs->state = RS_CONNECTED;
	*accepted = rs;
	return 0;
}

int softverbs_raccept(int fd, struct sockaddr *address, socklen_t *length)
{
	struct rsocket *rs = rs_get(fd), *accepted = NULL;
	int error;

	if (!rs)
		return -1;
	error = address && !length ? EFAULT : 0;
	while (!accepted && !error) {
		struct rdma_cm_event *event;

		if (rs->state != RS_LISTENING || rs->closed)
			error = EINVAL;
		else if (!softverbs_rdma_get_cm_event(rs->channel, &event)) {
			/* Who went away before it was accepted, or is no rsocket, is nobody's error. */
			if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
				error = accept_request(rs, event, &accepted);
			else
				softverbs_rdma_ack_cm_event(event);
			error = is_shortage(error) ? error : 0;
		} else if (rs->file_flags & O_NONBLOCK)
			error = EAGAIN;
		else
			error = rs_wait(rs, -1);
	}
	if (accepted && address)
		rs_copy_address(rdma_get_peer_addr(accepted->id), address, length);
	rs_put(rs);
	return error ? rs_result(error) : accepted->fd;
}

static int start_connecting(struct rsocket *rs, const struct sockaddr *address, socklen_t length)
{
	struct sockaddr_storage copy = {0};

	if (length > sizeof(copy) || length < sizeof(address->sa_family))
		return EINVAL;
	memcpy(&copy, address, length);
	rs->state = RS_RESOLVING;
	if (!softverbs_rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)&copy, RESOLVE_TIMEOUT_MS))
		return 0;
	rs->state = RS_NEW;
	return errno;
}

int softverbs_rconnect(int fd, const struct sockaddr *address, socklen_t length)
{
	struct rsocket *rs = rs_get(fd);
	int error = 0;

	if (!rs)
		return -1;
	if (rs->state == RS_NEW) {
		error = start_connecting(rs, address, length);
	} else {
		rs_progress(rs);
		if (rs->state == RS_LISTENING || rs->state == RS_CONNECTED)
			error = rs->state == RS_CONNECTED ? EISCONN : EINVAL;
		else if (rs_connecting(rs) && rs->file_flags & O_NONBLOCK)
			error = EALREADY;
	}
	while (!error && rs_connecting(rs)) {
		if (rs->file_flags & O_NONBLOCK)
			error = EINPROGRESS;
		else
			error = rs_wait(rs, -1);
	}
	if (!error && (rs->state == RS_FAILED || rs->disconnected)) {
		error = rs->error ? rs->error : ECONNABORTED;
		rs->error = 0;
	}
	rs_put(rs);
	return rs_result(error);
}

/* Waits until the peer has everything that was posted, or the time is over. */
static void linger(struct rsocket *rs)
{
	struct timespec now;
	int64_t until = 0;

	for (;;) {
		int64_t now_ms;

		rs_progress(rs);
		clock_gettime(CLOCK_MONOTONIC, &now);
		now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
		if (!until)
			until = now_ms + rs->linger_ms;
		if (rs->disconnected || (rs->ended && rs->posted == rs->completed && !rs->controls) || now_ms >= until)
			return;
		rs_wait(rs, (int)(until - now_ms));
	}
}

int softverbs_rshutdown(int fd, int how)
{
	struct rsocket *rs = rs_get(fd);
	int error = 0;

	if (!rs)
		return -1;
	rs_progress(rs);
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		error = EINVAL;
	else if (rs->state != RS_CONNECTED)
		error = ENOTCONN;
	if (!error && how != SHUT_WR)
		rs->read_shut = true;
	if (!error && how != SHUT_RD) {
		rs->end_wanted = true;
		rs_post_due(rs);
	}
	rs_put(rs);
	return rs_result(error);
}

int softverbs_rclose(int fd)
{
	int cancel;
	struct rsocket *rs;

	if (process_is_forked_child())
		return close(fd); /* the connection is the parent's */
	cancel = cancel_put_off(); /* a cancelled thread's rsocket is closed nevertheless */
	rs = rs_get(fd);
	if (!rs) {
		cancel_restore(cancel);
		return -1;
	}
	if (rs->state == RS_CONNECTED) {
		rs->end_wanted = true;
		linger(rs);
		softverbs_rdma_disconnect(rs->id);
	}
	rs->closed = true;
	rs->disconnected = true;
	pthread_cond_broadcast(&rs->woken);
	rs_forget(rs);
	rs_put(rs);
	cancel_restore(cancel);
	return 0;
}

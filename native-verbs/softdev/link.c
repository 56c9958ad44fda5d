/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link_internal.h"
#include "link_listen.h"
#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof(struct frame) == 40, "wire layout");

enum {
	STREAM_IOVS = 32,
	SCRATCH_BYTES = 65536,
	BYTES_PER_TURN = 4 << 20, /* then the other links get theirs */
};

#define HANDSHAKE_NS (10 * 1000000000ull)
#define FLUSH_NS (1 * 1000000000ull)

struct out_item {
	struct out_item *next;
	struct frame frame;
	uint64_t sent; /* header and payload */
	struct link_stream *stream;
	bool padding;
	int fds[LINK_MAX_FDS], fd_count;
	uint8_t payload[];
};

static uint8_t scratch[SCRATCH_BYTES];       /* discarded input */
static const uint8_t zeros[SCRATCH_BYTES];

static void close_fds(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

static void queue_init(struct out_queue *queue)
{
	queue->first = NULL;
	queue->last = &queue->first;
}

static void queue_add(struct out_queue *queue, struct out_item *item)
{
	item->next = NULL;
	*queue->last = item;
	queue->last = &item->next;
}

static void queue_drop_first(struct out_queue *queue)
{
	struct out_item *item = queue->first;

	queue->first = item->next;
	if (!queue->first)
		queue->last = &queue->first;
	close_fds(item->fds, item->fd_count);
	free(item);
}

static void free_if_idle(struct link *link)
{
	if (link->state == LINK_CLOSED && !link->dispatching)
		free(link);
}

void link_close(struct link *link)
{
	if (link->state == LINK_CLOSED)
		return;
	link->state = LINK_CLOSED;
	link->ops = NULL;
	progress_cancel(&link->failure);
	progress_timer_cancel(&link->deadline);
	progress_watch_remove(&link->watch);
	if (link->watch.fd >= 0)
		close(link->watch.fd);
	while (link->out.first)
		queue_drop_first(&link->out);
	while (link->held.first)
		queue_drop_first(&link->held);
	close_fds(link->in_fds, link->in_fd_count);
	free_if_idle(link);
}

void link_fail(struct link *link, int error)
{
	const struct link_ops *ops = link->ops;
	void *owner = link->owner;

	log_debug("link to pid %d closed: %s", (int)link->peer_pid, error ? strerror(error) : "end of stream");
	link->dispatching++;
	link->ops = NULL;
	if (ops && !link->closing_after_flush)
		ops->on_close(link, owner, error);
	link_close(link);
	link->dispatching--;
	free_if_idle(link);
}

static void update_events(struct link *link)
{
	uint32_t events = (link->paused ? 0 : EPOLLIN) | (link->out.first ? EPOLLOUT : 0);

	if (link->state == LINK_CLOSED || link->error ||
	    (link->watch.added && link->watched_events == events))
		return;
	link->watched_events = events;
	progress_watch_set(&link->watch, events);
}

/* Gives iov the next bytes of the item's payload from `offset`; asks the stream if it has one. */
static int payload_iov(struct out_item *item, uint64_t offset, struct iovec *iov)
{
	uint64_t rest = item->frame.length - offset;
	int count = 0;

	if (!rest)
		return 0;
	if (!item->stream) {
		iov[0] = (struct iovec){item->payload + offset, rest};
		return 1;
	}
	if (!item->padding) {
		count = item->stream->source(item->stream, offset, iov, STREAM_IOVS);
		if (count)
			return count;
		item->padding = true;
	}
	iov[0] = (struct iovec){(void *)(uintptr_t)zeros, rest < SCRATCH_BYTES ? rest : SCRATCH_BYTES};
	return 1;
}

/* Writes some of the item: bytes, or -errno. */
static ssize_t write_item(struct link *link, struct out_item *item)
{
	struct iovec iov[1 + STREAM_IOVS];
	union {
		char buffer[CMSG_SPACE(sizeof(int) * LINK_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = iov};
	bool asked_stream;
	ssize_t written;
	uint64_t payload_bytes = 0;
	int count = 0, payload_count;

	if (item->sent < sizeof(item->frame))
		iov[count++] = (struct iovec){(char *)&item->frame + item->sent,
					      sizeof(item->frame) - item->sent};
	payload_count = payload_iov(
		item, item->sent < sizeof(item->frame) ? 0 : item->sent - sizeof(item->frame), iov + count);
	if (payload_count < 0)
		return payload_count;
	asked_stream = item->stream && !item->padding && payload_count;
	message.msg_iovlen = count + payload_count;
	if (item->fd_count && !item->sent) {
		struct cmsghdr *header;

		memset(&control, 0, sizeof(control));
		message.msg_control = control.buffer;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * item->fd_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * item->fd_count);
		memcpy(CMSG_DATA(header), item->fds, sizeof(int) * item->fd_count);
	}
	do
		written = sendmsg(link->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (written < 0 && errno == EINTR);
	if (written < 0)
		written = -errno;
	if (written > 0 && asked_stream)
		payload_bytes = written > (ssize_t)(count ? iov[0].iov_len : 0)
					? written - (count ? iov[0].iov_len : 0)
					: 0;
	if (asked_stream) {
		int error = item->stream->sourced(
			item->stream,
			written < 0 && written != -EAGAIN ? written : (ssize_t)payload_bytes);

		if (error)
			return error;
		if (written == -EFAULT) {
			item->padding = true;
			return 0;
		}
	}
	if (written > 0)
		item->sent += written;
	return written;
}

/* Writes until the socket is full or nothing is left; may close the link (dispatching > 0). */
static void flush_out(struct link *link)
{
	size_t moved = 0;

	while (link->state != LINK_CLOSED && link->out.first && moved < BYTES_PER_TURN) {
		struct out_item *item = link->out.first;
		ssize_t written = write_item(link, item);

		if (link->state == LINK_CLOSED)
			return;
		if (written == -EAGAIN)
			break;
		if (written == -EPIPE || written == -ECONNRESET) {
			/* What the peer sent before it went is still to be read: wait for the end of stream. */
			while (link->out.first)
				queue_drop_first(&link->out);
			break;
		}
		if (written < 0) {
			link_fail(link, -written);
			return;
		}
		moved += written;
		if (item->sent == sizeof(item->frame) + item->frame.length) {
			struct link_stream *stream = item->stream;
			bool complete = !item->padding;

			queue_drop_first(&link->out);
			if (stream)
				stream->done(stream, complete);
		}
	}
	if (link->state != LINK_CLOSED && link->closing_after_flush && !link->out.first)
		link_close(link);
	update_events(link);
}

void link_flush(struct link *link)
{
	link->dispatching++;
	flush_out(link);
	link->dispatching--;
	free_if_idle(link);
}

static int enqueue(struct link *link, struct out_queue *queue, const struct frame *frame,
		   const void *payload, struct link_stream *stream, const int *fds, int fd_count)
{
	size_t copied = stream ? 0 : frame->length;
	struct out_item *item = malloc(sizeof(*item) + copied);

	if (!item)
		return -ENOMEM;
	*item = (struct out_item){.frame = *frame, .stream = stream};
	if (copied)
		memcpy(item->payload, payload, copied);
	for (int i = 0; i < fd_count; i++) {
		int duplicate = dup(fds[i]);

		if (duplicate < 0) {
			close_fds(item->fds, item->fd_count);
			free(item);
			return -errno;
		}
		item->fds[item->fd_count++] = duplicate;
	}
	queue_add(queue, item);
	if (queue == &link->out && link->watch.added)
		update_events(link);
	return 0;
}

int link_send(struct link *link, const struct frame *frame, const void *payload, const int *fds,
	      int fd_count)
{
	if (link->state == LINK_CLOSED)
		return -EPIPE;
	return enqueue(link, link->state == LINK_OPEN ? &link->out : &link->held, frame, payload, NULL,
		       fds, fd_count);
}

int link_send_stream(struct link *link, const struct frame *frame, struct link_stream *stream)
{
	if (link->state == LINK_CLOSED)
		return -EPIPE;
	return enqueue(link, link->state == LINK_OPEN ? &link->out : &link->held, frame, NULL, stream,
		       NULL, 0);
}

int link_send_now(struct link *link, const struct frame *frame, const void *payload)
{
	return enqueue(link, &link->out, frame, payload, NULL, NULL, 0);
}

void link_opened(struct link *link)
{
	link->state = LINK_OPEN;
	progress_timer_cancel(&link->deadline);
	while (link->held.first) {
		struct out_item *item = link->held.first;

		link->held.first = item->next;
		queue_add(&link->out, item);
	}
	queue_init(&link->held);
}

void link_pause(struct link *link, bool paused)
{
	link->paused = paused;
	update_events(link);
}

/* 1 = the frame is complete, 0 = more to come, -errno (ENODATA at the end of the stream). */
static ssize_t receive(struct link *link, struct iovec *iov, int count, bool with_fds)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int) * LINK_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
	struct cmsghdr *header;
	ssize_t got;

	if (with_fds) {
		message.msg_control = control.buffer;
		message.msg_controllen = sizeof(control.buffer);
	}
	do
		got = recvmsg(link->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -ENODATA : -errno;
	if (!got)
		return -ENODATA;
	header = with_fds ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		int fds[LINK_MAX_FDS];
		int fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(fds, CMSG_DATA(header), fd_count * sizeof(int));
		for (int i = 0; i < fd_count; i++)
			if (link->in_fd_count < LINK_MAX_FDS)
				link->in_fds[link->in_fd_count++] = fds[i];
			else
				close(fds[i]);
	}
	return got;
}

/* After the last byte of the header: how the payload is to be taken. 0 or -errno. */
static int accept_header(struct link *link)
{
	bool of_owner = link->in.op >= FRAME_OP_USER;

	if (of_owner != (link->state == LINK_OPEN))
		return -EPROTO;
	link->in_offset = 0;
	link->in_discarding = of_owner && !link->ops;
	link->in_streaming = of_owner && link->ops && link->ops->on_header &&
			     link->ops->on_header(link, link->owner, &link->in);
	if (link->state != LINK_CLOSED && !link->in_streaming && !link->in_discarding &&
	    link->in.length > LINK_MAX_BUFFERED)
		return -EPROTO;
	return 0;
}

/* Receives some payload: bytes, 0 if none could be taken by the owner, or -errno. */
static ssize_t receive_payload(struct link *link)
{
	uint64_t rest = link->in.length - link->in_offset;
	struct iovec iov[STREAM_IOVS] = {{link->in_buffer + link->in_offset, rest}};
	int count = 1;
	ssize_t got;

	if (link->in_streaming && !link->in_discarding) {
		count = link->ops->sink(link, link->owner, link->in_offset, iov, STREAM_IOVS);
		if (link->state == LINK_CLOSED)
			return -ECANCELED;
		if (!count || !link->ops) {
			link->in_discarding = true;
			return 0;
		}
		for (int i = 0; i < count; i++) {
			if (iov[i].iov_len > rest)
				iov[i].iov_len = rest;
			rest -= iov[i].iov_len;
		}
		got = receive(link, iov, count, false);
		link->ops->sunk(link, link->owner,
				got == -EAGAIN || got == -ENODATA ? 0 : got);
		if (got == -EFAULT) {
			link->in_discarding = true;
			return 0;
		}
		return got;
	}
	if (link->in_discarding)
		iov[0] = (struct iovec){scratch, rest < SCRATCH_BYTES ? rest : SCRATCH_BYTES};
	return receive(link, iov, 1, false);
}

static int deliver(struct link *link)
{
	int fds[LINK_MAX_FDS], fd_count = link->in_fd_count;

	memcpy(fds, link->in_fds, sizeof(fds));
	link->in_fd_count = 0;
	link->in_header_bytes = 0;
	if (link->state != LINK_OPEN) {
		close_fds(fds, fd_count);
		return -handshake_on_frame(link, &link->in, link->in_buffer);
	}
	if (link->ops)
		link->ops->on_frame(link, link->owner, &link->in,
				    link->in_streaming ? NULL : link->in_buffer, fds, fd_count);
	else
		close_fds(fds, fd_count);
	return 0;
}

/* One step of input: bytes moved (0 = progress without bytes), or -errno. */
static ssize_t read_some(struct link *link)
{
	ssize_t got = 0;
	int result;

	if (link->in_header_bytes < sizeof(link->in)) {
		struct iovec iov = {(char *)&link->in + link->in_header_bytes,
				    sizeof(link->in) - link->in_header_bytes};

		got = receive(link, &iov, 1, true);
		if (got < 0)
			return got;
		link->in_header_bytes += got;
		if (link->in_header_bytes < sizeof(link->in))
			return got;
		result = accept_header(link);
		if (result)
			return result;
	} else if (link->in_offset < link->in.length) {
		got = receive_payload(link);
		if (got < 0)
			return got;
		link->in_offset += got;
	}
	if (link->state != LINK_CLOSED && link->in_offset == link->in.length) {
		result = deliver(link);
		if (result)
			return result;
	}
	return got;
}

static void on_events(void *owner, uint32_t events)
{
	struct link *link = owner;
	size_t moved = 0;
	ssize_t got = 0;

	link->dispatching++;
	if (link->paused && (events & (EPOLLHUP | EPOLLERR)))
		link_fail(link, 0);
	while (link->state != LINK_CLOSED && !link->paused && moved < BYTES_PER_TURN && got >= 0) {
		got = read_some(link);
		if (got > 0)
			moved += got;
	}
	if (link->state != LINK_CLOSED && got < 0 && got != -EAGAIN && got != -ECANCELED)
		link_fail(link, got == -ENODATA ? 0 : -got);
	if (link->state != LINK_CLOSED)
		flush_out(link);
	link->dispatching--;
	free_if_idle(link);
}

static void on_deadline(void *owner)
{
	struct link *link = owner;

	if (link->closing_after_flush)
		link_close(link);
	else
		link_fail(link, ETIMEDOUT);
}

void link_close_after_flush(struct link *link)
{
	if (link->state == LINK_CLOSED)
		return;
	if (!link->out.first && !link->held.first) {
		link_close(link);
		return;
	}
	link->ops = NULL;
	link->in_discarding = true;
	link->closing_after_flush = true;
	progress_timer_set(&link->deadline, progress_now_ns() + FLUSH_NS);
}

static void report_failure(void *owner)
{
	struct link *link = owner;

	link_fail(link, link->error);
}

static struct link *link_new(int fd, enum link_state state)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->watch = (struct progress_watch){.fd = fd, .callback = on_events, .owner = link};
	link->deadline = (struct progress_timer){.callback = on_deadline, .owner = link};
	link->failure = (struct progress_task){.callback = report_failure, .owner = link};
	link->state = state;
	queue_init(&link->out);
	queue_init(&link->held);
	return link;
}

/* Reads the peer's credentials from the socket. 0 or an errno. */
static int learn_peer(struct link *link)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(link->watch.fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return errno;
	link->peer_pid = peer.pid;
	link->peer_uid = peer.uid;
	return handshake_check_uid(link);
}

static int connect_socket(struct link *link, uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = link_socket_name(port, &name);
	int error;

	if (!length)
		return ENOENT;
	link->watch.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (link->watch.fd < 0 || connect(link->watch.fd, (struct sockaddr *)&name, length))
		return errno;
	error = learn_peer(link);
	return error ? error : handshake_start(link);
}

struct link *link_connect(uint16_t port, enum link_kind kind, const struct link_ops *ops, void *owner)
{
	struct link *link = link_new(-1, LINK_EXPECT_REPLY);

	if (!link)
		return NULL;
	link->kind = kind;
	link->ops = ops;
	link->owner = owner;
	link->error = connect_socket(link, port);
	if (link->error) {
		progress_post(&link->failure);
		return link;
	}
	progress_timer_set(&link->deadline, progress_now_ns() + HANDSHAKE_NS);
	update_events(link);
	return link;
}

void link_accept(int fd)
{
	struct link *link = link_new(fd, LINK_EXPECT_HELLO);
	int error;

	if (!link) {
		close(fd);
		return;
	}
	error = learn_peer(link);
	if (error) {
		struct frame refused = {.op = FRAME_REFUSED, .status = error};

		log_warn("refused a connection of pid %d, uid %d", (int)link->peer_pid, (int)link->peer_uid);
		link_send_now(link, &refused, NULL);
		link_close_after_flush(link);
	} else {
		progress_timer_set(&link->deadline, progress_now_ns() + HANDSHAKE_NS);
	}
	update_events(link);
}

void link_set_owner(struct link *link, const struct link_ops *ops, void *owner)
{
	link->ops = ops;
	link->owner = owner;
}

pid_t link_peer_pid(const struct link *link)
{
	return link->peer_pid;
}

uid_t link_peer_uid(const struct link *link)
{
	return link->peer_uid;
}

const uint8_t *link_peer_nonce(const struct link *link)
{
	return link->peer_nonce;
}

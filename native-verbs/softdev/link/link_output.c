/* SPDX-License-Identifier: Apache-2.0 */
/* The sending half of a link: a queue of frames, each with its payload or with a stream that fetches it. */
#define _GNU_SOURCE
#include "core.h"
#include "link/link_internal.h"
#include "link/link_local.h"
#include "link/link_tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAM_IOVS = 32, ZERO_BYTES = 65536 };

struct out_item {
	struct list place;
	struct frame frame;
	uint64_t sent; /* bytes of header and payload written */
	struct link_stream *stream;
	bool padding;
	int fds[LINK_MAX_FDS], fd_count;
	uint8_t payload[];
};

static const uint8_t zeros[ZERO_BYTES];

static struct out_item *first_item(const struct list *queue)
{
	return LIST_FIRST(queue, struct out_item, place);
}

static void drop_item(struct link *link, struct out_item *item)
{
	list_remove(&item->place);
	link->waiting--;
	link->waiting_fds -= item->fd_count;
	link_close_fds(item->fds, item->fd_count);
	free(item);
}

static void drop_all(struct link *link, struct list *queue)
{
	while (!list_is_empty(queue))
		drop_item(link, first_item(queue));
}

void link_drop_output(struct link *link)
{
	drop_all(link, &link->out);
	drop_all(link, &link->held);
}

static void cut_at_stream(struct link *link, struct list *queue)
{
	struct list *at = queue->next;

	while (!list_is_empty(queue) && at != queue && !container_of_(at, struct out_item, place)->stream)
		at = at->next;
	while (!list_is_empty(queue) && at != queue) {
		struct out_item *item = container_of_(at, struct out_item, place);

		at = at->next;
		drop_item(link, item);
	}
}

void link_drop_streams(struct link *link)
{
	cut_at_stream(link, &link->out);
	cut_at_stream(link, &link->held);
}

/*
 * Sets `iov` to the next payload bytes from `offset`, asking the stream if the item has one. Returns the number of iovs
 * or -errno.
 */
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
	iov[0] = (struct iovec){(void *)(uintptr_t)zeros, rest < ZERO_BYTES ? rest : ZERO_BYTES};
	return 1;
}

/* Writes part of the item. Returns the number of bytes or -errno. */
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
	size_t all = 0;
	int count = 0, payload_count;

	link->out_full = false;
	if (item->sent < sizeof(item->frame))
		iov[count++] = (struct iovec){(char *)&item->frame + item->sent,
					      sizeof(item->frame) - item->sent};
	payload_count = payload_iov(
		item, item->sent < sizeof(item->frame) ? 0 : item->sent - sizeof(item->frame), iov + count);
	if (payload_count < 0)
		return payload_count;
	for (int i = 0; i < count + payload_count; i++)
		all += iov[i].iov_len;
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
	if (link->local) {
		written = link_local_send(link, iov, message.msg_iovlen, !asked_stream, item->fds,
					  item->fd_count);
		if (written > 0) {
			link->waiting_fds -= item->fd_count;
			item->fd_count = 0;
		}
	} else {
		do
			written = sendmsg(link->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		while (written < 0 && errno == EINTR);
		if (written < 0)
			written = -errno;
	}
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
	link->out_full = written >= 0 && (size_t)written < all;
	return written;
}

/* Called when everything is written on a link that closes after its flush. */
static void end_output(struct link *link)
{
	if (link->peer.is_tcp && !shutdown(link->watch.fd, SHUT_WR))
		link->lingering = true;
	else
		link_close(link);
}

/* Writes until the socket is full or the queue is empty. May close the link, so the caller has called link_begin(). */
void link_flush_output(struct link *link)
{
	size_t moved = 0;

	while (link->state != LINK_CLOSED && !list_is_empty(&link->out) && moved < LINK_BYTES_PER_TURN &&
	       !link->fault.held && !link->stalled && !link->error) {
		struct out_item *item = first_item(&link->out);
		ssize_t written = write_item(link, item);

		if (link->state == LINK_CLOSED)
			return;
		if (written == -EAGAIN)
			break;
		if (written == -LINK_STALL) {
			link->stalled = true;
			break;
		}
		if (written == -EPIPE || written == -ECONNRESET) {
			/*
			 * What the peer sent before it went is still to be read, so the link waits for the end of the
			 * stream.
			 */
			drop_all(link, &link->out);
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

			drop_item(link, item);
			if (stream)
				stream->done(stream, complete);
		}
		if (link->out_full)
			break;
	}
	if (link->state != LINK_CLOSED && link->closing_after_flush && list_is_empty(&link->out))
		end_output(link);
	if (link->state != LINK_CLOSED && link->out_full && link->times_to_tune)
		link->times_to_tune = tcp_tune(link->watch.fd) ? 0 : link->times_to_tune - 1;
	link_update_events(link);
}

static int enqueue(struct link *link, struct list *queue, const struct frame *frame,
		   const void *payload, struct link_stream *stream, const int *fds, int fd_count)
{
	size_t copied = stream ? 0 : frame->length;
	struct out_item *item = malloc(sizeof(*item) + copied);

	if (!item) {
		link_fail_soon(link, ENOMEM); /* a stream of frames must not lack one */
		return -ENOMEM;
	}
	*item = (struct out_item){.frame = *frame, .stream = stream};
	if (copied)
		memcpy(item->payload, payload, copied);
	for (int i = 0; i < fd_count; i++) {
		int duplicate = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (duplicate < 0) {
			int error = errno;

			link_close_fds(item->fds, item->fd_count);
			free(item);
			return -error;
		}
		item->fds[item->fd_count++] = duplicate;
	}
	list_add(queue, &item->place);
	link->waiting++;
	link->waiting_fds += item->fd_count;
	if (queue == &link->out && (link->watch.added || link->local))
		link_update_events(link);
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

bool link_ends_with(const struct link *link, uint8_t op)
{
	return !list_is_empty(&link->out) && container_of_(link->out.previous, struct out_item, place)->frame.op == op;
}

int link_send_now(struct link *link, const struct frame *frame, const void *payload)
{
	return enqueue(link, &link->out, frame, payload, NULL, NULL, 0);
}

void link_opened(struct link *link)
{
	link->state = LINK_OPEN;
	if (link->peer.is_tcp)
		link->times_to_tune = LINK_TIMES_TO_TUNE;
	if (link->accepted)
		link_start_handshake_clock(link); /* until the first frame has arrived */
	else
		progress_timer_cancel(&link->deadline);
	while (!list_is_empty(&link->held)) {
		struct list *first = link->held.next;

		list_remove(first);
		list_add(&link->out, first);
	}
}


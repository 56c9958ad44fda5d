/* SPDX-License-Identifier: Apache-2.0 */
/* The sending half of a link: a queue of frames, each with its payload or with a stream that fetches it. */
#define _GNU_SOURCE
#include "core.h"
#include "link/link_internal.h"
#include "link/link_tcp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { STREAM_IOVS = 32, MAX_IOVS = 64, ZERO_BYTES = 65536 };

struct out_item {
	struct list place;
	struct frame frame;
	uint64_t sent; /* bytes of header and payload written */
	struct link_stream *stream;
	bool padding;
	uint8_t *payload; /* behind the descriptors; NULL with a stream */
	int fd_count, fds[];
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

/* Returns the frame that follows the item's payload, or NULL. */
static const struct frame *trailer_of(const struct out_item *item)
{
	return item->stream && !item->padding ? item->stream->trailer : NULL;
}

/* Returns the end of its payload, in bytes of the item. */
static uint64_t payload_end(const struct out_item *item)
{
	return sizeof(item->frame) + item->frame.length;
}

static uint64_t item_bytes(const struct out_item *item)
{
	return payload_end(item) + (trailer_of(item) ? sizeof(struct frame) : 0);
}

/* Adds the frames behind the first one, up to the first that has a stream or passes descriptors. */
static int gather(const struct link *link, struct iovec *iov, int count)
{
	for (struct list *at = link->out.next->next; at != &link->out && count + 2 <= MAX_IOVS; at = at->next) {
		struct out_item *item = container_of_(at, struct out_item, place);

		if (item->stream || item->fd_count)
			break;
		iov[count++] = (struct iovec){&item->frame, sizeof(item->frame)};
		if (item->frame.length)
			iov[count++] = (struct iovec){item->payload, item->frame.length};
	}
	return count;
}

static uint64_t total_of(const struct iovec *iov, int count)
{
	uint64_t bytes = 0;

	for (int i = 0; i < count; i++)
		bytes += iov[i].iov_len;
	return bytes;
}

static ssize_t send_iov(struct link *link, struct out_item *first, struct iovec *iov, int count)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int) * LINK_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
	ssize_t written;

	if (first->fd_count && !first->sent) {
		struct cmsghdr *header;

		memset(&control, 0, sizeof(control));
		message.msg_control = control.buffer;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * first->fd_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * first->fd_count);
		memcpy(CMSG_DATA(header), first->fds, sizeof(int) * first->fd_count);
	}
	do {
		written = sendmsg(link->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (written < 0 && errno == ETOOMANYREFS) /* too many are under way between all processes of the user */
			message = (struct msghdr){.msg_iov = iov, .msg_iovlen = count};
	} while (written < 0 && (errno == EINTR || errno == ETOOMANYREFS));
	return written < 0 ? -errno : written;
}

/* Writes part of the first item, or the rest of it and more. Returns the number of bytes or -errno. */
static ssize_t write_items(struct link *link)
{
	struct out_item *item = first_item(&link->out);
	uint64_t end = payload_end(item), start = item->sent < end ? item->sent : end, payload, all;
	uint64_t header = start < sizeof(item->frame) ? sizeof(item->frame) - start : 0;
	struct iovec iov[MAX_IOVS];
	int count = header ? 1 : 0, payload_count;
	bool asked_stream;
	ssize_t written;

	link->out_full = false;
	iov[0] = (struct iovec){(char *)&item->frame + start, header};
	payload_count = payload_iov(item, start + header - sizeof(item->frame), iov + count);
	if (payload_count < 0)
		return payload_count;
	asked_stream = item->stream && !item->padding && payload_count;
	payload = total_of(iov + count, payload_count);
	count += payload_count;
	if (start + header + payload == end) {
		uint64_t sent = item->sent > end ? item->sent - end : 0;

		if (trailer_of(item))
			iov[count++] = (struct iovec){(char *)(uintptr_t)trailer_of(item) + sent,
						      sizeof(struct frame) - sent};
		count = gather(link, iov, count);
	}
	all = total_of(iov, count);
	written = send_iov(link, item, iov, count);
	if (asked_stream) {
		ssize_t moved = written > (ssize_t)header ? written - (ssize_t)header : 0;
		int error;

		if (moved > (ssize_t)payload)
			moved = payload;
		error = item->stream->sourced(item->stream, written < 0 && written != -EAGAIN ? written : moved);
		if (error)
			return error;
		if (written == -EFAULT) {
			item->padding = true;
			return 0;
		}
	}
	link->out_full = written >= 0 && (uint64_t)written < all;
	return written;
}

/* Marks what was written and drops the items that are complete. The end of a stream may close the link. */
static void advance(struct link *link, size_t written)
{
	struct out_item *item;

	for (struct list *at = link->out.next; written; at = at->next) {
		uint64_t rest;

		item = container_of_(at, struct out_item, place);
		rest = item_bytes(item) - item->sent;
		rest = rest < written ? rest : written;
		item->sent += rest;
		written -= rest;
	}
	while (link->state != LINK_CLOSED && !list_is_empty(&link->out)) {
		struct link_stream *stream;
		bool complete;

		item = first_item(&link->out);
		if (item->sent < item_bytes(item))
			break;
		stream = item->stream;
		complete = !item->padding;
		drop_item(link, item);
		if (stream)
			stream->done(stream, complete);
	}
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
		ssize_t written = write_items(link);

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
		advance(link, written);
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
	struct out_item *item = malloc(sizeof(*item) + fd_count * sizeof(*fds) + copied);

	if (!item) {
		link_close_fds(fds, fd_count);
		link_fail_soon(link, ENOMEM); /* a stream of frames must not lack one */
		return -ENOMEM;
	}
	*item = (struct out_item){.frame = *frame, .stream = stream, .fd_count = fd_count};
	if (fd_count)
		memcpy(item->fds, fds, fd_count * sizeof(*fds));
	if (copied)
		item->payload = memcpy(item->fds + fd_count, payload, copied);
	list_add(queue, &item->place);
	link->waiting++;
	link->waiting_fds += fd_count;
	if (queue == &link->out && link->watch.added)
		link_update_events(link);
	return 0;
}

int link_send(struct link *link, const struct frame *frame, const void *payload, const int *fds,
	      int fd_count)
{
	if (link->state == LINK_CLOSED) {
		link_close_fds(fds, fd_count);
		return -EPIPE;
	}
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


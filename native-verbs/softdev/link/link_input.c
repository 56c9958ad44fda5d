/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving half of a link: header, payload, callback. */
#define _GNU_SOURCE
#include "engine.h"
#include "link/link_internal.h"
#include "process/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STREAM_IOVS = 32, SCRATCH_BYTES = 65536, AHEAD_BYTES = 16384, LONG_PAYLOAD = AHEAD_BYTES / 2 };

/* What is left of it starts at `start`. */
struct link_ahead {
	size_t start, length;
	uint8_t bytes[AHEAD_BYTES];
};

struct link_input_state {
	uint8_t scratch[SCRATCH_BYTES]; /* receives discarded input */
};

ENGINE_PART(link_input, NULL);

bool link_has_ahead(const struct link *link)
{
	return link->ahead && link->ahead->length;
}

/* Copies to the application's memory, which may be unmapped. Returns the number of bytes or -errno. */
static ssize_t copy_out(const struct iovec *iov, int count, const void *from, size_t length)
{
	const struct iovec source = {(void *)(uintptr_t)from, length};
	ssize_t bytes = process_vm_writev(getpid(), &source, 1, iov, count, 0);

	return bytes < 0 ? -errno : bytes;
}

/* Returns the buffer, or NULL if there can be none. */
static struct link_ahead *ahead_of(struct link *link)
{
	char from = 1, to = 0;
	const struct iovec iov = {&to, 1};

	if (link->ahead || link->never_ahead)
		return link->ahead;
	link->never_ahead = copy_out(&iov, 1, &from, 1) != 1; /* a seccomp filter may forbid it */
	if (!link->never_ahead)
		link->ahead = calloc(1, sizeof(*link->ahead));
	return link->ahead;
}

static ssize_t take_ahead(struct link_ahead *ahead, const struct iovec *iov, int count, bool is_ours)
{
	uint8_t *from = ahead->bytes + ahead->start;
	ssize_t moved = 0;

	if (is_ours)
		for (int i = 0; i < count; i++) {
			size_t rest = ahead->length - moved, bytes = iov[i].iov_len < rest ? iov[i].iov_len : rest;

			memcpy(iov[i].iov_base, from + moved, bytes);
			moved += bytes;
		}
	else
		moved = copy_out(iov, count, from, ahead->length);
	if (moved > 0) {
		ahead->start += moved;
		ahead->length -= moved;
	}
	return moved;
}

/*
 * Receives from TCP as receive() does, and some of what has arrived behind that, because small frames would cost a system
 * call for each header and each payload. Between long payloads that is two headers, since what is received ahead is
 * copied once more. `room` is the length of `iov`.
 */
static ssize_t receive_tcp(struct link *link, const struct iovec *iov, int count, size_t room, bool is_ours)
{
	struct link_ahead *ahead = ahead_of(link);
	struct iovec all[STREAM_IOVS + 1];
	struct msghdr message = {.msg_iov = all, .msg_iovlen = count};
	size_t ahead_room = !ahead ? 0 : link->in_long ? 2 * sizeof(struct frame) : AHEAD_BYTES;
	ssize_t got;

	if (link_has_ahead(link)) {
		got = take_ahead(ahead, iov, count, is_ours);
		link->in_drained = link->socket_drained && !ahead->length;
		return got;
	}
	memcpy(all, iov, count * sizeof(*iov));
	if (ahead)
		all[message.msg_iovlen++] = (struct iovec){ahead->bytes, ahead_room};
	do
		got = recvmsg(link->watch.fd, &message, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -ENODATA : -errno;
	if (!got)
		return -ENODATA;
	link->socket_drained = (size_t)got < room + ahead_room;
	if ((size_t)got > room) {
		ahead->start = 0;
		ahead->length = got - room;
		got = room;
	}
	link->in_drained = link->socket_drained && !link_has_ahead(link);
	return got;
}

/*
 * Receives into `iov`. Returns the number of bytes, or -errno (-ENODATA at the end of the stream). `is_ours` says that
 * the memory is not the application's.
 *
 * Descriptors are taken only from a peer of the same user. Otherwise the kernel gets no room for them and discards
 * them: even closing another user's descriptor may wait for a file system that this user runs. Only those before the
 * first that is no regular file are kept, since reading anything else may block for ever, and a descriptor of our own
 * end of this link would hide the peer's death.
 */
static ssize_t receive(struct link *link, struct iovec *iov, int count, bool is_ours, bool with_fds)
{
	union {
		char buffer[CMSG_SPACE(sizeof(int) * LINK_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = count};
	struct cmsghdr *header;
	size_t room = 0;
	ssize_t got;

	for (int i = 0; i < count; i++)
		room += iov[i].iov_len;
	if (link->peer.is_tcp)
		return receive_tcp(link, iov, count, room, is_ours);
	with_fds = with_fds && link->peer.is_of_own_user;
	message.msg_control = control.buffer;
	message.msg_controllen = with_fds ? sizeof(control.buffer) : 0;
	do
		got = recvmsg(link->watch.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return errno == ECONNRESET ? -ENODATA : -errno;
	if (!got)
		return -ENODATA;
	link->in_drained = (size_t)got < room;
	header = with_fds ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		int fds[LINK_MAX_FDS], kept = 0;
		int fd_count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		memcpy(fds, CMSG_DATA(header), fd_count * sizeof(int));
		while (kept < fd_count && link->in_fd_count < LINK_MAX_FDS && file_is_regular(fds[kept]))
			link->in_fds[link->in_fd_count++] = fds[kept++];
		link_close_fds(fds + kept, fd_count - kept);
	}
	return got;
}

/* Decides how to take the payload, once the header is complete. 0 or -errno. */
static int accept_header(struct link *link)
{
	bool of_owner = link->in.op >= FRAME_OP_USER;

	if (of_owner != (link->state == LINK_OPEN))
		return -EPROTO;
	link->in_offset = 0;
	if (link->in.length)
		link->in_long = link->in.length >= LONG_PAYLOAD;
	link->in_discarding = of_owner && (!link->ops || link->fault.drop);
	link->in_streaming = of_owner && !link->in_discarding && link->ops->on_header &&
			     link->ops->on_header(link, link->owner, &link->in);
	if (link->state != LINK_CLOSED && !link->in_streaming && !link->in_discarding &&
	    link->in.length > LINK_MAX_BUFFERED)
		return -EPROTO;
	return 0;
}

/* Receives some payload. Returns the number of bytes, 0 if the owner could take none, or -errno. */
static ssize_t receive_payload(struct link *link)
{
	uint64_t rest = link_fault_room(&link->fault, link->in.length - link->in_offset);
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
		got = receive(link, iov, count, false, false);
		if (fault_is_on())
			got = link_fault_payload(link, iov, got);
		link->ops->sunk(link, link->owner,
				got == -EAGAIN || got == -ENODATA ? 0 : got);
		if (got == -EFAULT) {
			link->in_discarding = true;
			return 0;
		}
		return got;
	}
	if (link->in_discarding)
		iov[0] = (struct iovec){engine->link_input->scratch, rest < SCRATCH_BYTES ? rest : SCRATCH_BYTES};
	got = receive(link, iov, 1, true, false);
	return fault_is_on() ? link_fault_payload(link, iov, got) : got;
}

void link_discard_input(struct link *link)
{
	struct iovec iov = {engine->link_input->scratch, SCRATCH_BYTES};
	size_t moved = 0;
	ssize_t got;

	do {
		got = receive(link, &iov, 1, true, false);
		moved += got > 0 ? got : 0;
	} while (got >= 0 && moved < LINK_BYTES_PER_TURN);
	if (got < 0 && got != -EAGAIN)
		link_close(link);
}

static int deliver(struct link *link)
{
	int fds[LINK_MAX_FDS], fd_count = link->in_fd_count;

	memcpy(fds, link->in_fds, fd_count * sizeof(*fds));
	link->in_fd_count = 0;
	link->in_header_bytes = 0;
	if (link->state != LINK_OPEN) {
		link_close_fds(fds, fd_count);
		return -handshake_on_frame(link, &link->in, link->in_buffer);
	}
	progress_timer_cancel(&link->deadline);
	if (link->ops && !link->fault.drop)
		link->ops->on_frame(link, link->owner, &link->in,
				    link->in_streaming ? NULL : link->in_buffer, fds, fd_count);
	else
		link_close_fds(fds, fd_count);
	return 0;
}

ssize_t link_read_some(struct link *link)
{
	ssize_t got = 0;
	int result;

	if (link->in_header_bytes < sizeof(link->in)) {
		struct iovec iov = {(char *)&link->in + link->in_header_bytes,
				    sizeof(link->in) - link->in_header_bytes};

		got = receive(link, &iov, 1, true, true);
		if (got < 0)
			return got;
		link->in_header_bytes += got;
		if (link->in_header_bytes < sizeof(link->in))
			return got;
		result = link_fault_frame(link);
		if (!result)
			result = accept_header(link);
		if (result)
			return result;
	} else if (link->fault.delayed) {
		link->fault.delayed = false;
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


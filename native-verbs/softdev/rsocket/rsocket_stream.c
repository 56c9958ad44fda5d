/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an rsocket: send and receive in all their forms. */
#include "rsocket.h"

#include <fcntl.h>
#include <string.h>

#include "rsocket_exports.h"

static bool nonblocking(const struct rsocket *rs, int flags)
{
	return rs->file_flags & O_NONBLOCK || flags & MSG_DONTWAIT;
}

/* What a stream that moves no more answers, once; 0: it moves, or the answer has been given. */
static int taken_error(struct rsocket *rs)
{
	int error = rs->error;

	rs->error = 0;
	return error;
}

/* 0 or what refuses the call; a connection that is still being made is waited for. */
static int ready(struct rsocket *rs, int flags)
{
	int error = 0;

	rs_progress(rs);
	while (!error && rs_connecting(rs))
		error = nonblocking(rs, flags) ? EAGAIN : rs_wait(rs, -1);
	if (error)
		return error;
	if (rs->closed)
		return EBADF;
	if (rs->state == RS_FAILED)
		return rs->error ? taken_error(rs) : ENOTCONN;
	return rs->state == RS_CONNECTED ? 0 : ENOTCONN;
}

/* Copies what has arrived, up to `length`; whole messages are given back to the peer as credits unless it only looks. */
static size_t take_arrivals(struct rsocket *rs, char *data, size_t length, bool only_look)
{
	uint32_t looked = 0;
	size_t done = 0;

	while (done < length && looked < rs->arrival_count) {
		struct rs_arrival *arrival = &rs->arrivals[(rs->arrival_head + looked) % RS_SLOTS];
		size_t part = arrival->length - arrival->offset;

		if (part > length - done)
			part = length - done;
		memcpy(data + done, rs_receive_slot(rs, arrival->slot) + arrival->offset, part);
		done += part;
		if (only_look) {
			looked++;
			continue;
		}
		arrival->offset += (uint32_t)part;
		if (arrival->offset < arrival->length)
			break;
		rs->arrival_head = (rs->arrival_head + 1) % RS_SLOTS;
		rs->arrival_count--;
		if (!rs->disconnected) {
			if (rs_post_receive(rs, arrival->slot))
				rs_fail(rs, EIO);
			rs->freed++;
		}
	}
	rs_post_due(rs);
	return done;
}

static ssize_t receive(struct rsocket *rs, char *data, size_t length, int flags)
{
	int error = ready(rs, flags);
	size_t done = 0;

	while (!error) {
		done += take_arrivals(rs, data + done, length - done, flags & MSG_PEEK);
		if (done == length || (done && (flags & MSG_PEEK || !(flags & MSG_WAITALL))) || rs->read_shut ||
		    (rs->peer_ended && !rs->arrival_count) || rs->closed)
			return (ssize_t)done;
		if (rs->disconnected) {
			error = done ? 0 : taken_error(rs);
			if (!error)
				return (ssize_t)done;
		} else {
			error = nonblocking(rs, flags) ? EAGAIN : rs_wait(rs, -1);
		}
	}
	return done ? (ssize_t)done : rs_result(error);
}

static ssize_t transmit(struct rsocket *rs, const char *data, size_t length, int flags)
{
	int error = ready(rs, flags);
	size_t done = 0;

	while (!error && done < length) {
		if (rs->closed || rs->end_wanted || rs->disconnected) {
			error = taken_error(rs);
			error = error ? error : EPIPE;
		} else if (rs_may_send(rs)) {
			size_t part = length - done < rs->peer_slot_bytes ? length - done : rs->peer_slot_bytes;

			memcpy(rs_next_slot(rs), data + done, part);
			error = rs_post_slot(rs, (uint32_t)part, NULL, 0);
			if (!error)
				done += part;
		} else {
			rs_progress(rs);
			if (!rs_may_send(rs))
				error = nonblocking(rs, flags) ? EAGAIN : rs_wait(rs, -1);
		}
	}
	return done || !error ? (ssize_t)done : rs_result(error);
}

ssize_t softverbs_rrecv(int fd, void *data, size_t length, int flags)
{
	struct rsocket *rs;
	ssize_t result;

	pthread_testcancel(); /* of a thread that never waits, too */
	rs = rs_get(fd);
	if (!rs)
		return -1;
	result = receive(rs, data, length, flags);
	rs_put(rs);
	return result;
}

ssize_t softverbs_rrecvfrom(int fd, void *data, size_t length, int flags, struct sockaddr *source,
			    socklen_t *source_length)
{
	ssize_t result = softverbs_rrecv(fd, data, length, flags);

	if (result > 0 && source && softverbs_rgetpeername(fd, source, source_length))
		return -1;
	return result;
}

/* The parts of a list one after the other, until one is not whole. */
static ssize_t receive_list(int fd, const struct iovec *list, size_t count, int flags)
{
	ssize_t done = 0;

	for (size_t i = 0; i < count; i++) {
		/* The first part waits for bytes; the others take what is there already. */
		ssize_t part = list[i].iov_len ? softverbs_rrecv(fd, list[i].iov_base, list[i].iov_len,
								  done && !(flags & MSG_WAITALL) ? flags | MSG_DONTWAIT
												 : flags)
					       : 0;

		if (part < 0)
			return done ? done : part;
		done += part;
		if ((size_t)part < list[i].iov_len || (part && flags & MSG_PEEK))
			break; /* another look would see the same bytes */
	}
	return done;
}

static ssize_t send_list(int fd, const struct iovec *list, size_t count, int flags)
{
	ssize_t done = 0;

	for (size_t i = 0; i < count; i++) {
		ssize_t part = list[i].iov_len ? softverbs_rsend(fd, list[i].iov_base, list[i].iov_len, flags) : 0;

		if (part < 0)
			return done ? done : part;
		done += part;
		if ((size_t)part < list[i].iov_len)
			break;
	}
	return done;
}

ssize_t softverbs_rrecvmsg(int fd, struct msghdr *message, int flags)
{
	if (message->msg_control && message->msg_controllen)
		return rs_result(ENOTSUP);
	return receive_list(fd, message->msg_iov, message->msg_iovlen, flags);
}

ssize_t softverbs_rread(int fd, void *data, size_t length)
{
	return softverbs_rrecv(fd, data, length, 0);
}

ssize_t softverbs_rreadv(int fd, const struct iovec *list, int count)
{
	return count < 0 ? rs_result(EINVAL) : receive_list(fd, list, (size_t)count, 0);
}

ssize_t softverbs_rsend(int fd, const void *data, size_t length, int flags)
{
	struct rsocket *rs;
	ssize_t result;

	pthread_testcancel();
	rs = rs_get(fd);
	if (!rs)
		return -1;
	result = transmit(rs, data, length, flags);
	rs_put(rs);
	return result;
}

ssize_t softverbs_rsendto(int fd, const void *data, size_t length, int flags,
			  const struct sockaddr *destination, socklen_t destination_length)
{
	return destination || destination_length ? rs_result(EISCONN) : softverbs_rsend(fd, data, length, flags);
}

ssize_t softverbs_rsendmsg(int fd, const struct msghdr *message, int flags)
{
	if (message->msg_control && message->msg_controllen)
		return rs_result(ENOTSUP);
	return send_list(fd, message->msg_iov, message->msg_iovlen, flags);
}

ssize_t softverbs_rwrite(int fd, const void *data, size_t length)
{
	return softverbs_rsend(fd, data, length, 0);
}

ssize_t softverbs_rwritev(int fd, const struct iovec *list, int count)
{
	return count < 0 ? rs_result(EINVAL) : send_list(fd, list, (size_t)count, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rpoll() and rselect(), for rsockets and other descriptors side by side. */
#define _GNU_SOURCE
#include "rsocket.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "rsocket_exports.h"

/* A thread that waits in another call for one of the sockets may take its event from under a sleeping rpoll(). */
enum { SLEEP_MS = 100, FEW = 16 };

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static short events_of(struct rsocket *rs)
{
	struct pollfd request = {.fd = rs->fd, .events = POLLIN};
	short events = 0;

	switch (rs->state) {
	case RS_NEW:
		return POLLOUT | POLLHUP;
	case RS_LISTENING:
		return poll(&request, 1, 0) == 1 ? POLLIN : 0;
	case RS_FAILED:
		return POLLIN | POLLOUT | POLLERR | POLLHUP;
	case RS_RESOLVING:
	case RS_CONNECTING:
		return 0;
	case RS_CONNECTED:
		break;
	}
	if (rs->arrival_count || rs->peer_ended || rs->read_shut || rs->disconnected)
		events |= POLLIN;
	if (rs->peer_ended)
		events |= POLLRDHUP;
	if (rs_may_send(rs) || rs->disconnected)
		events |= POLLOUT;
	/* As with TCP: not while there are bytes to read, nor because only the peer has ended. */
	if (!rs->arrival_count && (rs->peer_ended ? rs->end_wanted : rs->disconnected))
		events |= POLLHUP;
	if (rs->error)
		events |= POLLERR;
	return events;
}

/* How many of them have something to tell, rsockets and others. With `arm` they will wake a sleeper from now on. */
static int look(struct pollfd *fds, nfds_t count, bool arm)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		struct rsocket *rs = rs_find(fds[i].fd);

		if (!rs) {
			ready += poll(&fds[i], 1, 0) == 1;
			continue;
		}
		pthread_mutex_lock(&rs->lock);
		if (arm)
			rs_arm(rs);
		rs_progress(rs);
		fds[i].revents = (short)(events_of(rs) & (fds[i].events | POLLERR | POLLHUP));
		pthread_mutex_unlock(&rs->lock);
		rs_drop(rs);
		ready += fds[i].revents != 0;
	}
	return ready;
}

/* Two descriptors for each: of the events and of the completions. */
static int sleep_for(const struct pollfd *fds, nfds_t count, struct pollfd *sleepers, int timeout_ms)
{
	for (nfds_t i = 0; i < count; i++) {
		struct rsocket *rs = rs_find(fds[i].fd);

		sleepers[2 * i] = fds[i];
		sleepers[2 * i + 1] = (struct pollfd){.fd = -1};
		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		sleepers[2 * i].events = POLLIN;
		if (rs->completions)
			sleepers[2 * i + 1] = (struct pollfd){.fd = rs->completions->fd, .events = POLLIN};
		pthread_mutex_unlock(&rs->lock);
		rs_drop(rs);
	}
	return poll(sleepers, 2 * count, timeout_ms);
}

int softverbs_rpoll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int64_t until = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;
	struct pollfd few[2 * FEW], *sleepers = few;
	int ready = look(fds, count, false);

	if (ready || !timeout_ms)
		return ready;
	if (count > FEW) {
		sleepers = calloc(count, 2 * sizeof(*sleepers));
		if (!sleepers)
			return rs_result(ENOMEM);
	}
	while (!(ready = look(fds, count, true))) {
		int64_t left = until - now_ms();

		if (left <= 0)
			break;
		if (sleep_for(fds, count, sleepers, left < SLEEP_MS ? (int)left : SLEEP_MS) < 0) {
			ready = -1;
			break;
		}
	}
	if (sleepers != few)
		free(sleepers);
	return ready;
}

static bool wanted(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

/* Takes a descriptor out of a set if it has none of those events; 1 if it stays. */
static int keep(fd_set *set, const struct pollfd *fd, int events)
{
	if (!wanted(set, fd->fd))
		return 0;
	if (fd->revents & events)
		return 1;
	FD_CLR(fd->fd, set);
	return 0;
}

int softverbs_rselect(int count, fd_set *readable, fd_set *writable, fd_set *exceptional, struct timeval *timeout)
{
	int64_t ms = timeout ? (int64_t)timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000 : -1;
	struct pollfd fds[FD_SETSIZE];
	nfds_t used = 0;
	int ready = 0;

	if (count < 0 || count > FD_SETSIZE)
		return rs_result(EINVAL);
	for (int fd = 0; fd < count; fd++) {
		short events = (short)((wanted(readable, fd) ? POLLIN : 0) | (wanted(writable, fd) ? POLLOUT : 0) |
				       (wanted(exceptional, fd) ? POLLPRI : 0));

		if (events)
			fds[used++] = (struct pollfd){.fd = fd, .events = events};
	}
	if (softverbs_rpoll(fds, used, ms > INT_MAX ? INT_MAX : (int)ms) < 0)
		return -1;
	for (nfds_t i = 0; i < used; i++) {
		if (fds[i].revents & POLLNVAL)
			return rs_result(EBADF);
		ready += keep(readable, &fds[i], POLLIN | POLLHUP | POLLERR);
		ready += keep(writable, &fds[i], POLLOUT | POLLERR);
		ready += keep(exceptional, &fds[i], POLLPRI);
	}
	return ready;
}

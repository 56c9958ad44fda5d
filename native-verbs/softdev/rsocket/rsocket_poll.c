/* SPDX-License-Identifier: Apache-2.0 */
/* rpoll() and rselect(), for rsockets and other descriptors side by side. */
#define _GNU_SOURCE
#include "rsocket.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "cancel.h"
#include "rsocket_exports.h"

/* What another thread does itself to one of the sockets, as rshutdown(), wakes no sleeper. */
enum { SLEEP_MS = 100, FEW = 16 };

/* What a call sleeps for. */
struct bed {
	struct pollfd *fds;	  /* two for each descriptor of the call: of the events and of the completions */
	struct rsocket **sockets; /* of each, with a reference, among its sleepers; NULL if it is no rsocket */
	nfds_t count;
	bool allocated;
	int cancel; /* cancel_restore() of the call */
};

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

/* How many of them have something to tell, rsockets and others. With a bed they will wake it from now on: get_up() follows. */
static int look(struct pollfd *fds, nfds_t count, struct bed *bed)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		struct rsocket *rs = rs_find(fds[i].fd);

		if (bed) {
			bed->sockets[i] = rs;
			bed->fds[2 * i] = fds[i];
			bed->fds[2 * i + 1] = (struct pollfd){.fd = -1};
		}
		if (!rs) {
			ready += poll(&fds[i], 1, 0) == 1;
			continue;
		}
		pthread_mutex_lock(&rs->lock);
		if (bed)
			rs_arm(rs);
		rs_progress(rs);
		fds[i].revents = (short)(events_of(rs) & (fds[i].events | POLLERR | POLLHUP));
		if (bed) {
			bed->fds[2 * i].events = POLLIN;
			if (rs->completions)
				bed->fds[2 * i + 1] = (struct pollfd){.fd = rs->completions->fd, .events = POLLIN};
			rs->sleepers++;
		}
		pthread_mutex_unlock(&rs->lock);
		if (!bed)
			rs_drop(rs);
		ready += fds[i].revents != 0;
	}
	return ready;
}

static void get_up(const struct bed *bed)
{
	for (nfds_t i = 0; i < bed->count; i++) {
		struct rsocket *rs = bed->sockets[i];

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		rs_awake(rs);
		pthread_mutex_unlock(&rs->lock);
		rs_drop(rs);
	}
}

static void free_bed(const struct bed *bed)
{
	if (bed->allocated) {
		free(bed->fds);
		free(bed->sockets);
	}
}

/* A cancelled thread. */
static void leave_bed(void *owner)
{
	get_up(owner);
	free_bed(owner);
}

/* 0 or a positive errno. */
static int sleep_in(struct bed *bed, int timeout_ms)
{
	int error;

	pthread_cleanup_push(leave_bed, bed);
	cancel_restore(bed->cancel);
	error = poll(bed->fds, 2 * bed->count, timeout_ms) < 0 ? errno : 0;
	cancel_put_off();
	pthread_cleanup_pop(0);
	return error;
}

/* As rpoll, after a first look; -1 and errno. */
static int look_until(struct pollfd *fds, nfds_t count, struct bed *bed, int timeout_ms)
{
	int64_t until = timeout_ms < 0 ? INT64_MAX : now_ms() + timeout_ms;

	for (;;) {
		int64_t left = until - now_ms();
		int ready = look(fds, count, bed), error = 0;

		if (!ready && left > 0)
			error = sleep_in(bed, left < SLEEP_MS ? (int)left : SLEEP_MS);
		get_up(bed);
		if (ready || left <= 0 || error)
			return error ? rs_result(error) : ready;
	}
}

int softverbs_rpoll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct pollfd few_fds[2 * FEW];
	struct rsocket *few_sockets[FEW];
	struct bed bed = {few_fds, few_sockets, count, count > FEW, PTHREAD_CANCEL_DISABLE};
	int ready;

	pthread_testcancel();
	bed.cancel = cancel_put_off();
	ready = look(fds, count, NULL);
	if (!ready && timeout_ms) {
		if (bed.allocated) {
			bed.fds = calloc(count, 2 * sizeof(*bed.fds));
			bed.sockets = calloc(count, sizeof(struct rsocket *));
		}
		ready = bed.fds && bed.sockets ? look_until(fds, count, &bed, timeout_ms) : rs_result(ENOMEM);
		free_bed(&bed);
	}
	cancel_restore(bed.cancel);
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

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "core.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "link/link_tcp.h"
#include "process/log.h"
#include "process/secret.h"
#include "process/user.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

_Static_assert(sizeof(struct frame) == 40, "wire layout");

/* An accepting end stops reading while the peer has not taken more than this many answers, or descriptors in them. */
enum { MAX_ANSWERS_WAITING = 4096, MAX_FDS_WAITING = 4 };

enum { LOW_WATER_BYTES = 128 << 10 };

#define HANDSHAKE_NS (10 * 1000000000ull)
#define FLUSH_NS (1 * 1000000000ull)

void link_begin(struct link *link)
{
	link->dispatching++;
}

static void destroy(struct link *link)
{
	free(link->ahead);
	free(link);
}

void link_end(struct link *link)
{
	if (--link->dispatching)
		return;
	if (link->state == LINK_CLOSED)
		destroy(link);
	else
		link_update_events(link);
}

void link_close(struct link *link)
{
	if (link->state == LINK_CLOSED)
		return;
	link->state = LINK_CLOSED;
	link->ops = NULL;
	link_fault_end(link);
	progress_cancel(&link->failure);
	progress_cancel(&link->more);
	progress_timer_cancel(&link->deadline);
	progress_watch_remove(&link->watch);
	if (link->watch.fd >= 0)
		close(link->watch.fd);
	stranger_leave(&link->stranger);
	link_drop_output(link);
	link_close_fds(link->in_fds, link->in_fd_count);
	if (!link->dispatching)
		destroy(link);
}

void link_fail(struct link *link, int error)
{
	const struct link_ops *ops = link->ops;
	void *owner = link->owner;

	log_debug("link to %s closed: %s", link_peer_name(link).text, error ? strerror(error) : "end of stream");
	link_begin(link);
	link->ops = NULL;
	if (ops && ops->on_close && !link->closing_after_flush)
		ops->on_close(link, owner, error);
	link_close(link);
	link_end(link);
}

void link_fail_soon(struct link *link, int error)
{
	if (link->error || link->state == LINK_CLOSED)
		return;
	link->error = error;
	progress_post(&link->failure);
}

static bool may_read(const struct link *link)
{
	return !link->paused && !link->error && !link->closing_after_flush && !link->fault.held &&
	       !(link->accepted &&
		 (link->waiting > MAX_ANSWERS_WAITING || link->waiting_fds > MAX_FDS_WAITING));
}

void link_update_events(struct link *link)
{
	bool connecting = link->state == LINK_CONNECTING;
	int error;
	uint32_t events = ((may_read(link) && !connecting) || link->lingering ? EPOLLIN : 0) |
			  ((!list_is_empty(&link->out) && !link->stalled) || connecting ? EPOLLOUT : 0);

	if (link->dispatching) /* link_end() does it once */
		return;
	if (link->fault.held) { /* not even the end of the stream may be noticed */
		progress_watch_remove(&link->watch);
		return;
	}
	if (link->state == LINK_CLOSED || link->error)
		return;
	if (may_read(link) && link_has_ahead(link))
		progress_post(&link->more);
	if (link->watch.added && link->watched_events == events)
		return;
	link->watched_events = events;
	error = progress_watch_set(&link->watch, events);
	if (error)
		link_fail_soon(link, -error);
}

unsigned int link_frames_waiting(const struct link *link)
{
	return link->waiting;
}

void link_pause(struct link *link, bool paused)
{
	link->paused = paused;
	link_update_events(link);
}

void link_flush_soon(struct link *link)
{
	/*
	 * Long payloads take long to receive, and the peer would have nothing to do meanwhile. A fault that ends the link
	 * at one frame must not take the answers to earlier ones with it.
	 */
	if (!link->receiving || !link_has_ahead(link) || link->in_long || fault_is_on())
		link_flush(link);
}

void link_flush(struct link *link)
{
	link_begin(link);
	link_flush_output(link);
	link_end(link);
}

/*
 * Within a long payload TCP wakes the progress thread for LOW_WATER_BYTES at a time rather than for each packet. The
 * amount is small enough that a slow link does not look like a silent peer.
 */
static void set_low_water(struct link *link)
{
	bool in_payload = link->in_header_bytes == sizeof(link->in) &&
			  link->in.length - link->in_offset >= LOW_WATER_BYTES;
	int bytes = in_payload ? LOW_WATER_BYTES : 1;

	if (link->peer.is_tcp && link->has_low_water != in_payload &&
	    !setsockopt(link->watch.fd, SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)))
		link->has_low_water = in_payload;
}

void link_receive(struct link *link)
{
	size_t moved = 0;
	ssize_t got = 0;

	link_begin(link);
	link->receiving = true;
	link->in_drained = link->socket_drained = false;
	for (int step = 0; link->state != LINK_CLOSED && may_read(link) && moved < LINK_BYTES_PER_TURN &&
			   step < LINK_STEPS_PER_TURN && got >= 0 && !link->in_drained;
	     step++) {
		got = link_read_some(link);
		if (got > 0)
			moved += got;
	}
	link->receiving = false;
	if (link->state != LINK_CLOSED && got < 0 && got != -EAGAIN && got != -ECANCELED)
		link_fail(link, got == -ENODATA ? 0 : -got);
	if (link->state != LINK_CLOSED)
		set_low_water(link);
	link_end(link);
}

void link_on_events(void *owner, uint32_t events)
{
	struct link *link = owner;

	if (link_fault_defers(link))
		return;
	link_begin(link);
	if (link->state == LINK_CONNECTING) {
		link_on_connected(link);
		goto done;
	}
	if (link->lingering) {
		link_discard_input(link);
		goto done;
	}
	if ((link->paused || link->closing_after_flush) && (events & (EPOLLHUP | EPOLLERR)))
		link_fail(link, 0);
	link_receive(link);
	if (link->state != LINK_CLOSED)
		link_flush_output(link);
done:
	link_end(link);
}

static void on_more(void *owner)
{
	struct link *link = owner;

	if (may_read(link) && link_has_ahead(link)) /* an event may have come first */
		link_on_events(link, EPOLLIN);
}

static void on_deadline(void *owner)
{
	struct link *link = owner;

	if (link->closing_after_flush)
		link_close(link);
	else
		link_fail(link, ETIMEDOUT);
}

static bool has_output(const struct link *link)
{
	return !list_is_empty(&link->out) || !list_is_empty(&link->held);
}

void link_close_after_flush(struct link *link)
{
	if (link->state == LINK_CLOSED)
		return;
	link_drop_streams(link);
	/* TCP discards data under way when a socket is closed with unread input, so an open TCP link always lingers. */
	if (!has_output(link) && !(link->peer.is_tcp && link->state == LINK_OPEN)) {
		link_close(link);
		return;
	}
	link->ops = NULL;
	link->closing_after_flush = true; /* also stops reading: a refused peer must not continue */
	progress_timer_set(&link->deadline, progress_now_ns() + FLUSH_NS);
	if (has_output(link))
		link_update_events(link);
	else
		link_flush(link);
}

static void report_failure(void *owner)
{
	struct link *link = owner;

	link_fail(link, link->error);
}

struct link *link_new(int fd, enum link_state state)
{
	struct link *link = calloc(1, sizeof(*link));

	if (!link)
		return NULL;
	link->watch = (struct progress_watch){.fd = fd, .callback = link_on_events, .owner = link};
	link->deadline = (struct progress_timer){.callback = on_deadline, .owner = link};
	link->failure = (struct progress_task){.callback = report_failure, .owner = link};
	link->more = (struct progress_task){.callback = on_more, .owner = link};
	link->state = state;
	link->peer.uid = (uid_t)-1;
	link->accepted = state == LINK_EXPECT_HELLO;
	link_fault_begin(link);
	return link;
}

int link_learn_peer(struct link *link)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(link->watch.fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return errno;
	link->peer.pid = peer.pid;
	link->peer.uid = peer.uid;
	link->peer.is_of_own_user = user_is_own(peer.uid);
	return (secret_is_set() ? link_knows_its_place() : link->peer.is_of_own_user) ? 0 : EACCES;
}

void link_start_handshake_clock(struct link *link)
{
	progress_timer_set(&link->deadline, progress_now_ns() + HANDSHAKE_NS);
}

void link_set_owner(struct link *link, const struct link_ops *ops, void *owner)
{
	link->ops = ops;
	link->owner = owner;
}

uint64_t link_taken_ago_ns(struct link *link)
{
	return link->peer.is_tcp ? tcp_taken_ago_ns(link->watch.fd, &link->acked) : UINT64_MAX;
}

bool link_is_from(const struct link *link, const uint8_t *raw)
{
	union ibv_gid gid;

	memcpy(gid.raw, raw, sizeof(gid.raw));
	if (!link->peer.is_tcp || gid_is_local(&link->peer.gid))
		return gid_is_local(&gid);
	return !memcmp(&link->peer.gid, &gid, sizeof(gid));
}

uint32_t link_peer_scope(const struct link *link)
{
	return link->peer.is_tcp ? tcp_peer_scope(link->watch.fd) : 0;
}

struct link_name link_peer_name(const struct link *link)
{
	struct link_name name;
	char host[INET6_ADDRSTRLEN] = "";

	if (link->peer.is_tcp)
		snprintf(name.text, sizeof(name.text), "%s port %u", gid_text(&link->peer.gid, host), link->tcp_port);
	else
		snprintf(name.text, sizeof(name.text), "pid %d, uid %d", (int)link->peer.pid, (int)link->peer.uid);
	return name;
}

const struct link_peer *link_peer(const struct link *link)
{
	return &link->peer;
}

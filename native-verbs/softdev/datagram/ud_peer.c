/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_peer.h"

#include "datagram/ud_endpoint.h"
#include "datagram/ud_proof.h"
#include "engine.h"
#include "link/link_listen.h"
#include "lock.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/secret.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

struct ud_peer {
	uint16_t port;
	int fd;
	int references;	 /* of the table and of threads that send; guarded by the lock */
	_Atomic bool stuck;
	_Atomic bool proved; /* it knows the secret, or there is none; nothing is sent to it before */
	struct progress_task start; /* from here on, fields belong to the progress thread */
	struct ud_proof proof;
	struct progress_watch watch;
	struct list waiters;
};

enum { SEND_BUFFER_BYTES = 4 << 20 };

struct ud_peer_state {
	pthread_mutex_t lock; /* a leaf */
	struct ud_peer **peers; /* by port */
};

static bool init_part(void *part)
{
	struct ud_peer_state *state = part;

	state->peers = calloc(1 << 16, sizeof(*state->peers));
	return state->peers;
}

ENGINE_PART(ud_peer, init_part);

/* Called with the lock held. */
static void put(struct ud_peer *peer)
{
	if (--peer->references)
		return;
	close(peer->fd);
	free(peer);
}

static void release(struct ud_peer *peer)
{
	HOLD_LOCK(&engine->ud_peer->lock);
	put(peer);
}

/* The next receiver on that port gets a connection of its own. */
static void forget(struct ud_peer *peer)
{
	HOLD_LOCK(&engine->ud_peer->lock);
	if (engine->ud_peer->peers[peer->port] == peer)
		engine->ud_peer->peers[peer->port] = NULL;
}

/* A waiter that waits again goes to the end of the list. */
static void wake_first(struct ud_peer *peer)
{
	struct ud_waiter *waiter = LIST_FIRST(&peer->waiters, struct ud_waiter, waiting);

	ud_peer_cancel(waiter);
	waiter->callback(waiter->owner);
}

/* Ends the connection, and with it the reference of the table. Progress thread. */
static void end(struct ud_peer *peer)
{
	progress_watch_remove(&peer->watch);
	forget(peer);
	while (!list_is_empty(&peer->waiters))
		wake_first(peer);
	release(peer);
}

/* Returns the events to wait for: the proof, then room if somebody waits for it, and always the end of the connection. */
static uint32_t wanted_events(const struct ud_peer *peer)
{
	if (!peer->proved)
		return EPOLLIN | EPOLLRDHUP;
	return !list_is_empty(&peer->waiters) ? EPOLLOUT | EPOLLRDHUP : EPOLLRDHUP;
}

static void on_proof(struct ud_peer *peer)
{
	int result = ud_proof_sender(&peer->proof, peer->fd);

	if (result < 0) {
		log_warn("the receiver of datagrams at port %u does not prove our secret: none is sent to it", peer->port);
		end(peer);
	} else if (result) {
		peer->proved = true;
		peer->stuck = false;
		progress_watch_set(&peer->watch, wanted_events(peer));
	}
}

static void on_event(void *owner, uint32_t events)
{
	struct ud_peer *peer = owner;

	if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
		end(peer);
		return;
	}
	if (!peer->proved) {
		on_proof(peer);
		return;
	}
	if (!list_is_empty(&peer->waiters))
		wake_first(peer);
	if (list_is_empty(&peer->waiters))
		progress_watch_set(&peer->watch, wanted_events(peer));
}

static void start_watching(void *owner)
{
	struct ud_peer *peer = owner;

	if (progress_watch_set(&peer->watch, wanted_events(peer)))
		end(peer);
}

/* Returns a socket or -errno. */
static int connect_to(uint16_t port)
{
	int size = SEND_BUFFER_BYTES, fd = link_connect_name(port, LINK_DATAGRAM_SUFFIX, SOCK_SEQPACKET);
	struct ucred peer;

	if (fd >= 0 && !ud_may_talk(fd, &peer)) {
		close(fd);
		return -EACCES;
	}
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	return fd;
}

/* Returns a connection that is not in the table yet, or NULL and errno. */
static struct ud_peer *connect_peer(uint16_t port)
{
	int fd = connect_to(port);
	struct ud_peer *peer = fd < 0 ? NULL : calloc(1, sizeof(*peer));

	if (!peer) {
		if (fd >= 0)
			close(fd);
		errno = fd < 0 ? -fd : ENOMEM;
		return NULL;
	}
	peer->port = port;
	peer->fd = fd;
	peer->references = 1;
	peer->proved = !secret_is_set();
	peer->start = (struct progress_task){.callback = start_watching, .owner = peer};
	peer->watch = (struct progress_watch){.fd = fd, .callback = on_event, .owner = peer};
	return peer;
}

/* Adds the connection to the table, unless another thread was faster. Returns the one in the table, held for the caller. */
static struct ud_peer *add(struct ud_peer *new)
{
	struct ud_peer *peer;

	pthread_mutex_lock(&engine->ud_peer->lock);
	peer = engine->ud_peer->peers[new->port];
	if (peer)
		put(new);
	else
		peer = engine->ud_peer->peers[new->port] = new;
	peer->references++;
	pthread_mutex_unlock(&engine->ud_peer->lock);
	if (peer == new) {
		progress_watch_own(&new->watch);
		progress_post(&new->start);
	}
	return peer;
}

static struct ud_peer *find(uint16_t port)
{
	struct ud_peer *peer;

	HOLD_LOCK(&engine->ud_peer->lock);
	peer = engine->ud_peer->peers[port];
	if (peer)
		peer->references++;
	return peer;
}

static struct ud_peer *find_or_connect(uint16_t port)
{
	struct ud_peer *peer;

	peer = find(port);
	if (peer)
		return peer;
	progress_hold_forks();
	peer = connect_peer(port);
	peer = peer ? add(peer) : NULL;
	progress_let_forks();
	return peer;
}

/* As ud_peer_send(), or another -errno if the receiver is gone. */
static int try_to_send(struct ud_peer *peer, const struct msghdr *message)
{
	int error;

	if (!peer->proved)
		return peer->stuck ? 0 : -EAGAIN;
	do
		error = sendmsg(peer->fd, message, MSG_NOSIGNAL) < 0 ? -errno : 0;
	while (error == -EINTR);
	if (error == -EAGAIN || error == -ENOBUFS || error == -ENOMEM)
		return peer->stuck ? 0 : -EAGAIN;
	if (!error)
		peer->stuck = false;
	return error;
}

int ud_peer_send(uint16_t port, const struct msghdr *message)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		struct ud_peer *peer = find_or_connect(port);
		bool gone;
		int error;

		if (!peer)
			return errno == EAGAIN || errno == ENOMEM ? -EAGAIN : 0;
		error = try_to_send(peer, message);
		gone = error && error != -EAGAIN && error != -EFAULT;
		if (gone)
			forget(peer);
		release(peer);
		if (!gone)
			return error;
	}
	return 0;
}

void ud_peer_give_up(uint16_t port)
{
	struct ud_peer *peer = find(port);

	if (peer) {
		peer->stuck = true;
		release(peer);
	}
}

void ud_peer_wait(uint16_t port, struct ud_waiter *waiter)
{
	struct ud_peer *peer = find(port);

	if (!peer || !peer->watch.added) {
		if (peer)
			release(peer);
		return;
	}
	list_add(&peer->waiters, &waiter->waiting);
	progress_watch_set(&peer->watch, wanted_events(peer));
	release(peer);
}

void ud_peer_cancel(struct ud_waiter *waiter)
{
	list_remove(&waiter->waiting);
}

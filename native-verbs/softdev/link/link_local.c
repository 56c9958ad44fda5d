/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link/link_local.h"

#include "engine.h"
#include "link/ports.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

enum { RING_BYTES = 64 << 10, MAX_SPARE_RINGS = 16 };

/* Descriptors that accompany the byte at `place` in the stream. */
struct passed {
	struct list queued;
	uint64_t place;
	int fds[LINK_MAX_FDS], fd_count;
};

/* One end of a local link, with the ring of its input. */
struct link_local {
	struct link *other; /* NULL if the other end has closed */
	uint8_t *ring;	    /* NULL while the ring is empty */
	uint64_t written, read;
	struct list passed;
	uint32_t wanted;
	struct progress_task task;
};

struct link_local_state {
	pthread_once_t once;
	bool can_copy;
	uint8_t *spare_rings[MAX_SPARE_RINGS];
	int spare_count;
};

ENGINE_PART(link_local, NULL);

/* Some containers forbid process_vm_readv() and process_vm_writev(). */
static void try_copy(void)
{
	char from = 1, to = 0;
	struct iovec source = {&from, 1}, sink = {&to, 1};

	engine->link_local->can_copy = process_vm_readv(getpid(), &sink, 1, &source, 1, 0) == 1 &&
				       process_vm_writev(getpid(), &source, 1, &sink, 1, 0) == 1;
}

/* Most rings carry a single message, so a few are kept for reuse. */
static uint8_t *take_ring(void)
{
	struct link_local_state *state = engine->link_local;

	return state->spare_count ? state->spare_rings[--state->spare_count] : malloc(RING_BYTES);
}

static void give_ring_back(uint8_t *ring)
{
	struct link_local_state *state = engine->link_local;

	if (ring && state->spare_count < MAX_SPARE_RINGS)
		state->spare_rings[state->spare_count++] = ring;
	else
		free(ring);
}

bool link_local_reaches(uint16_t port)
{
	pthread_once(&engine->link_local->once, try_copy);
	return engine->link_local->can_copy && process_index_of_port(port) >= 0;
}

/* Returns the events that epoll would report. */
static uint32_t ready(const struct link_local *end)
{
	const struct link_local *other = end->other ? end->other->local : NULL;

	if (!other)
		return EPOLLHUP | EPOLLIN | EPOLLOUT;
	return (end->written != end->read ? EPOLLIN : 0) | (other->written - other->read < RING_BYTES ? EPOLLOUT : 0);
}

static void tell_if_ready(struct link_local *end)
{
	if (ready(end) & (end->wanted | EPOLLHUP))
		progress_post(&end->task);
}

static void on_task(void *owner)
{
	struct link *link = owner;
	uint32_t events = ready(link->local) & (link->local->wanted | EPOLLHUP);

	if (events && !link->fault.held && !link->error)
		link_on_events(link, events);
}

void link_local_update(struct link *link, uint32_t events)
{
	link->local->wanted = events;
	tell_if_ready(link->local);
}

static int add_end(struct link *link, struct link *other)
{
	struct link_local *end = calloc(1, sizeof(*end));

	if (!end)
		return ENOMEM;
	end->other = other;
	end->task = (struct progress_task){.callback = on_task, .owner = link};
	link->local = end;
	link->peer.pid = getpid();
	link->peer.uid = geteuid();
	link->peer.is_of_own_user = true;
	return 0;
}

int link_local_connect(struct link *link)
{
	struct link *other = link_new(-1, LINK_EXPECT_HELLO);
	int error = ENOMEM;

	if (!other)
		return error;
	error = add_end(other, link);
	if (!error)
		error = add_end(link, other);
	if (error) {
		link_close(other);
		return error;
	}
	link_start_handshake_clock(other); /* a process is no stranger to itself, so the limit of those does not apply */
	link_update_events(other);
	return handshake_start(link);
}

static struct passed *first_passed(const struct link_local *end)
{
	return LIST_FIRST(&end->passed, struct passed, queued);
}

static void drop_passed(struct passed *passed)
{
	list_remove(&passed->queued);
	free(passed);
}

void link_local_close(struct link *link)
{
	struct link_local *end = link->local;
	struct link_local *other = end->other ? end->other->local : NULL;
	struct passed *passed;

	progress_cancel(&end->task);
	while ((passed = first_passed(end))) {
		link_close_fds(passed->fds, passed->fd_count);
		drop_passed(passed);
	}
	give_ring_back(end->ring);
	free(end);
	link->local = NULL;
	if (other) {
		other->other = NULL;
		progress_post(&other->task);
	}
}

static ssize_t copy(struct iovec *ring, const struct iovec *outside, int count, bool is_ours, bool in)
{
	size_t moved = 0;

	if (!is_ours) {
		ssize_t bytes = in ? process_vm_readv(getpid(), ring, 2, outside, count, 0)
				   : process_vm_writev(getpid(), ring, 2, outside, count, 0);

		return bytes < 0 ? -errno : bytes;
	}
	for (int i = 0; i < count; i++)
		for (size_t done = 0; done < outside[i].iov_len;) {
			struct iovec *part = ring[0].iov_len ? &ring[0] : &ring[1];
			size_t rest = outside[i].iov_len - done, bytes = rest < part->iov_len ? rest : part->iov_len;
			char *place = (char *)outside[i].iov_base + done;

			if (!bytes)
				return moved;
			memcpy(in ? part->iov_base : place, in ? place : part->iov_base, bytes);
			*part = (struct iovec){(char *)part->iov_base + bytes, part->iov_len - bytes};
			done += bytes;
			moved += bytes;
		}
	return moved;
}

/* Sets `iov` to the one or two pieces of the ring that hold `bytes` bytes from `place` on. */
static void fill_ring_iov(const struct link_local *end, uint64_t place, uint64_t bytes, struct iovec iov[2])
{
	uint64_t start = place % RING_BYTES, to_end = RING_BYTES - start;

	iov[0] = (struct iovec){end->ring + start, bytes < to_end ? bytes : to_end};
	iov[1] = (struct iovec){end->ring, bytes - iov[0].iov_len};
}

/* Attaches the descriptors to the next byte that is written. 0 or -errno. */
static int pass(struct link_local *to, const int *fds, int fd_count)
{
	struct passed *passed = malloc(sizeof(*passed));

	if (!passed)
		return -ENOMEM;
	*passed = (struct passed){.place = to->written, .fd_count = fd_count};
	memcpy(passed->fds, fds, fd_count * sizeof(*fds));
	list_add(&to->passed, &passed->queued);
	return 0;
}

ssize_t link_local_send(struct link *link, const struct iovec *iov, int count, bool is_ours, const int *fds, int fd_count)
{
	struct link_local *to = link->local->other ? link->local->other->local : NULL;
	uint64_t room = to ? RING_BYTES - (to->written - to->read) : 0;
	struct iovec ring[2];
	ssize_t bytes;
	int error;

	if (!to)
		return -EPIPE;
	if (!room)
		return -EAGAIN;
	if (!to->ring && !(to->ring = take_ring()))
		return -ENOMEM;
	fill_ring_iov(to, to->written, room, ring);
	bytes = copy(ring, iov, count, is_ours, true);
	if (bytes <= 0)
		return bytes;
	error = fd_count ? pass(to, fds, fd_count) : 0;
	if (error)
		return error;
	to->written += bytes;
	tell_if_ready(to);
	return bytes;
}

/* Takes the descriptors that accompany the byte that is read next, if any. */
static void take_passed(struct link *link, bool with_fds)
{
	struct passed *passed = first_passed(link->local);

	if (!passed || passed->place != link->local->read)
		return;
	for (int i = 0; i < passed->fd_count; i++)
		if (with_fds && link->in_fd_count < LINK_MAX_FDS)
			link->in_fds[link->in_fd_count++] = passed->fds[i];
		else
			close(passed->fds[i]);
	drop_passed(passed);
}

ssize_t link_local_receive(struct link *link, const struct iovec *iov, int count, bool is_ours, bool with_fds)
{
	struct link_local *end = link->local;
	uint64_t there = end->written - end->read;
	struct iovec ring[2];
	ssize_t bytes;

	if (!there)
		return end->other ? -EAGAIN : -ENODATA;
	LIST_EACH(at, &end->passed) {
		uint64_t ahead = container_of_(at, struct passed, queued)->place - end->read;

		if (ahead && ahead < there)
			there = ahead;
	}
	fill_ring_iov(end, end->read, there, ring);
	bytes = copy(ring, iov, count, is_ours, false);
	if (bytes <= 0)
		return bytes;
	take_passed(link, with_fds);
	end->read += bytes;
	if (end->read == end->written) {
		give_ring_back(end->ring);
		end->ring = NULL;
	}
	if (end->other)
		tell_if_ready(end->other->local);
	return bytes;
}

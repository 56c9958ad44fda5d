/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/ud_inlet.h"

#include "datagram/ud_endpoint.h"
#include "datagram/ud_receive.h"
#include "engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MS 1000000ull

/* MAY_WAIT: datagrams of a lossless inlet for one queue pair. */
enum { DATAGRAMS_PER_TURN = 64, MAY_WAIT = 256 };

struct datagram {
	struct ud_header header;
	uint8_t payload[UD_MAX_PAYLOAD];
};

struct ud_stopped {
	uint32_t length; /* of the payload */
	struct datagram datagram;
};

struct ud_inlet_state {
	struct datagram datagram; /* the one that is being received; there is one progress thread */
};

ENGINE_PART(ud_inlet, NULL);

static bool deliver(const struct ud_inlet *inlet, struct datagram *datagram, uint32_t length)
{
	return ud_deliver(&datagram->header, datagram->payload, length, inlet->lossless ? MAY_WAIT : UD_HELD_MOST) ||
	       !inlet->lossless;
}

/* Reads no further until the timer has delivered this datagram. It is lost if memory is short. */
static void stop(struct ud_inlet *inlet, const struct datagram *datagram, uint32_t length)
{
	inlet->stopped = malloc(sizeof(*inlet->stopped));
	if (!inlet->stopped)
		return;
	inlet->stopped->length = length;
	memcpy(&inlet->stopped->datagram, datagram, sizeof(datagram->header) + length);
	progress_watch_set(&inlet->watch, EPOLLET); /* the end of the connection is reported once and found again later */
	progress_timer_set(&inlet->timer, progress_now_ns() + MS);
}

static int receive(struct ud_inlet *inlet)
{
	struct datagram *datagram = &engine->ud_inlet->datagram;

	for (int i = 0; i < DATAGRAMS_PER_TURN && !inlet->stopped; i++) {
		ssize_t length = recv(inlet->fd, datagram, sizeof(*datagram), MSG_TRUNC);
		uint32_t payload = length - sizeof(datagram->header);

		if (length < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!length)
			return -EPIPE;
		if (!ud_is_genuine(&datagram->header, length))
			return -EBADMSG;
		if (!deliver(inlet, datagram, payload))
			stop(inlet, datagram, payload);
	}
	return 0;
}

static void on_event(void *owner, uint32_t events)
{
	struct ud_inlet *inlet = owner;
	int error = inlet->stopped ? 0 : receive(inlet);

	(void)events;
	if (error && inlet->callback)
		inlet->callback(inlet->owner, error);
}

static void on_timer(void *owner)
{
	struct ud_inlet *inlet = owner;
	struct ud_stopped *stopped = inlet->stopped;

	if (!deliver(inlet, &stopped->datagram, stopped->length)) {
		progress_timer_set(&inlet->timer, progress_now_ns() + MS);
		return;
	}
	free(stopped);
	inlet->stopped = NULL;
	progress_watch_set(&inlet->watch, EPOLLIN);
}

int ud_inlet_open(struct ud_inlet *inlet)
{
	inlet->watch = (struct progress_watch){.fd = inlet->fd, .callback = on_event, .owner = inlet};
	inlet->timer = (struct progress_timer){.callback = on_timer, .owner = inlet};
	return progress_watch_set(&inlet->watch, EPOLLIN);
}

void ud_inlet_close(struct ud_inlet *inlet)
{
	progress_timer_cancel(&inlet->timer);
	progress_watch_remove(&inlet->watch);
	free(inlet->stopped);
	inlet->stopped = NULL;
}

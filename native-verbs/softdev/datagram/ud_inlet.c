/* SPDX-License-Identifier: Apache-2.0 */
#include "ud_inlet.h"

#include "ud.h"
#include "ud_endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define MS 1000000ull
#define HOLD_NS (50 * MS) /* less than a sender waits for room */

enum { DATAGRAMS_PER_TURN = 64 };

struct datagram {
	struct ud_header header;
	uint8_t payload[UD_MAX_PAYLOAD];
};

struct held_datagram {
	uint32_t length; /* of the payload */
	struct datagram datagram;
};

/* Reads no further until the timer has found a receive, or given up. Without memory the datagram is lost. */
static void hold(struct ud_inlet *inlet, const struct datagram *datagram, uint32_t length)
{
	inlet->held = malloc(sizeof(*inlet->held));
	if (!inlet->held)
		return;
	inlet->held->length = length;
	memcpy(&inlet->held->datagram, datagram, sizeof(datagram->header) + length);
	inlet->give_up_ns = progress_now_ns() + HOLD_NS;
	progress_watch_set(&inlet->watch, EPOLLET); /* the end of a connection is told once and found again later */
	progress_timer_set(&inlet->timer, progress_now_ns() + MS);
}

static int receive(struct ud_inlet *inlet)
{
	static struct datagram datagram; /* one at a time: there is one progress thread */

	for (int i = 0; i < DATAGRAMS_PER_TURN && !inlet->held; i++) {
		ssize_t length = recv(inlet->fd, &datagram, sizeof(datagram), MSG_TRUNC);
		uint32_t payload = length - sizeof(datagram.header);

		if (length < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		if (!length)
			return -EPIPE;
		if (!ud_is_genuine(&datagram.header, length))
			return -EBADMSG;
		if (!ud_deliver(&datagram.header, datagram.payload, payload, true))
			hold(inlet, &datagram, payload);
	}
	return 0;
}

static void on_event(void *owner, uint32_t events)
{
	struct ud_inlet *inlet = owner;

	(void)events;
	if (!inlet->held)
		inlet->callback(inlet->owner, receive(inlet));
}

static void on_timer(void *owner)
{
	struct ud_inlet *inlet = owner;
	struct held_datagram *held = inlet->held;
	uint64_t now = progress_now_ns();

	if (!ud_deliver(&held->datagram.header, held->datagram.payload, held->length, now < inlet->give_up_ns)) {
		progress_timer_set(&inlet->timer, now + MS);
		return;
	}
	free(held);
	inlet->held = NULL;
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
	free(inlet->held);
	inlet->held = NULL;
}

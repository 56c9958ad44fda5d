/* SPDX-License-Identifier: Apache-2.0 */
/* The accepting end before the handshake, and the limit on peers that have not authenticated yet. */
#include "link/link_internal.h"
#include "link/link_tcp.h"
#include "process/log.h"
#include "process/secret.h"

#include <string.h>
#include <unistd.h>

#define MS 1000000ull

static void drop(void *link)
{
	link_close(link);
}

/*
 * How long a link stays although others wait. One of another user that knows the secret tries again. Whoever connects by TCP
 * may be anybody, so he must not keep others waiting for longer than a queue pair waits for its peer.
 */
static uint64_t may_stay_ns(const struct link *link)
{
	if (link->peer.is_tcp)
		return 300 * MS;
	return link->peer.is_of_own_user ? 1000 * MS : 0;
}

static void add_stranger(struct link *link)
{
	stranger_enter(&link->stranger, may_stay_ns(link), drop, link);
}

void link_refuse(struct link *link, int error)
{
	struct frame refused = {.op = FRAME_REFUSED, .status = error};

	log_warn("refused a connection of %s: %s", link_peer_name(link).text, strerror(error));
	link_send_now(link, &refused, NULL);
	link_close_after_flush(link);
}

void link_accept_unix(int fd, uint16_t port)
{
	struct link *link = link_new(fd, LINK_EXPECT_HELLO);
	int error;

	(void)port;
	if (!link) {
		close(fd);
		return;
	}
	link_begin(link);
	error = link_learn_peer(link);
	if (error) {
		link_refuse(link, error);
	} else {
		add_stranger(link);
		link_start_handshake_clock(link);
	}
	link_end(link);
}

void link_accept_tcp(int fd, uint16_t port)
{
	struct link *link = link_new(fd, LINK_EXPECT_HELLO);

	if (!link) {
		close(fd);
		return;
	}
	link->peer.is_tcp = true;
	link->tcp_port = port;
	if (!secret_is_set() || tcp_accepted(fd, &link->own_gid, &link->peer.gid)) {
		link_close(link);
		return;
	}
	add_stranger(link);
	link_start_handshake_clock(link);
	link_update_events(link);
}

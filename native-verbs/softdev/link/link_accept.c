/* SPDX-License-Identifier: Apache-2.0 */
/* The accepting end before the handshake, and the limit on peers that have not authenticated yet. */
#include "engine.h"
#include "link/link_internal.h"
#include "link/link_tcp.h"
#include "process/log.h"
#include "process/secret.h"

#include <string.h>
#include <unistd.h>

/* When one more arrives, the link that has waited longest is closed. */
enum { MAX_STRANGERS = 256 };

struct link_accept_state {
	struct list strangers;
	int stranger_count;
};

ENGINE_PART(link_accept, NULL);

void link_stop_being_a_stranger(struct link *link)
{
	engine->link_accept->stranger_count -= list_has(&link->stranger);
	list_remove(&link->stranger);
}

static void add_stranger(struct link *link)
{
	if (engine->link_accept->stranger_count == MAX_STRANGERS) {
		struct link *oldest = LIST_FIRST(&engine->link_accept->strangers, struct link, stranger);

		log_warn("%d connections wait to prove who they are: dropping that of %s", MAX_STRANGERS,
			 link_peer_name(oldest).text);
		link_close(oldest);
	}
	list_add(&engine->link_accept->strangers, &link->stranger);
	engine->link_accept->stranger_count++;
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

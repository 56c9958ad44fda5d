/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the socket that leads to a peer: the unix socket of this network namespace if the GID belongs to this host,
 * TCP otherwise. TCP carries no credentials, so it requires a secret and never has short cuts.
 */
#include "core.h"
#include "engine.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "link/link_tcp.h"
#include "process/log.h"
#include "process/secret.h"
#include "process/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/socket.h>

struct link_connect_state {
	atomic_bool said;
};

ENGINE_PART(link_connect, NULL);

static int connect_unix(struct link *link, uint16_t port)
{
	int fd = link_connect_name(port), error;

	if (fd < 0)
		return -fd;
	link->watch.fd = fd;
	error = link_learn_peer(link);
	return error ? error : handshake_start(link);
}

static bool is_by_unix(const union ibv_gid *destination)
{
	return path_mode() != PATH_TCP && gid_is_local(destination);
}

/* Logged once, because whatever goes to another host fails for the same reason. */
bool link_may_reach(const union ibv_gid *destination)
{
	char text[INET6_ADDRSTRLEN];

	if (is_by_unix(destination) || secret_is_set())
		return true;
	if (!atomic_exchange(&engine->link_connect->said, true))
		log_error("%s is reached over the network, which takes a secret that both ends know: set SOFTVERBS_SECRET "
			  "or SOFTVERBS_SECRET_FILE to the same value for both",
			  gid_text(destination, text));
	return false;
}

static int connect_tcp(struct link *link, const union ibv_gid *source, const union ibv_gid *destination,
		       uint16_t port)
{
	int error;

	link->peer.is_tcp = true;
	link->own_gid = *source;
	link->peer.gid = *destination;
	link->tcp_port = port;
	if (!link_may_reach(destination))
		return EACCES;
	error = tcp_connect(source, destination, port, &link->watch.fd);
	if (error)
		return error;
	link->state = LINK_CONNECTING;
	return 0;
}

void link_on_connected(struct link *link)
{
	int error = tcp_result(link->watch.fd);

	if (!error) {
		link->state = LINK_EXPECT_CHALLENGE;
		error = handshake_start(link);
	}
	if (error)
		link_fail(link, error);
	else
		link_update_events(link);
}

struct link *link_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port,
			  enum link_kind kind, const struct link_ops *ops, void *owner)
{
	struct link *link = link_new(-1, LINK_EXPECT_CHALLENGE);
	int error;

	if (!link)
		return NULL;
	link->kind = kind;
	link->ops = ops;
	link->owner = owner;
	error = link_fault_refuses(link);
	if (!error)
		error = is_by_unix(destination) ? connect_unix(link, port)
						: connect_tcp(link, source, destination, port);
	if (error) {
		link_fail_soon(link, error);
		return link;
	}
	link_start_handshake_clock(link);
	link_update_events(link);
	return link;
}

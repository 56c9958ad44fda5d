/* SPDX-License-Identifier: Apache-2.0 */
#include "link/ports.h"

#include "core.h"
#include "device/gid_table.h"
#include "engine.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "lock.h"
#include "process/cancel.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/settings.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BIND_ATTEMPTS = 64 };

struct port {
	int number;
	struct progress_watch sockets[PORT_SOCKETS]; /* not watched, only owned: the child of a fork closes them */
	struct link_listener links, tcp;	     /* TCP listens only if a secret is set; otherwise it reserves the number */
};

struct ports_state {
	pthread_mutex_t lock;
	struct port ports[PROCESS_MAX_PORTS];
	int port_count;
};

ENGINE_PART(ports, NULL);

/*
 * Binds a socket of all addresses. SO_REUSEADDR is set so that old connections of an earlier process do not keep the
 * port. Returns the socket or -errno.
 */
static int bind_in(int family, int type, int number)
{
	/* A sockaddr_in has its family and its port in the same places, and its address is zeros, too. */
	struct sockaddr_in6 any = {.sin6_family = family, .sin6_port = htons(number)};
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, off = 0, error;

	if (fd < 0)
		return -errno;
	if (type == SOCK_STREAM && secret_is_set())
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if ((family == AF_INET || !setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off))) &&
	    !bind(fd, (struct sockaddr *)&any, sizeof(any)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static int bind_socket(int type, int number)
{
	int fd = bind_in(AF_INET6, type, number);

	return fd >= 0 || fd == -EADDRINUSE ? fd : bind_in(AF_INET, type, number);
}

static int bound_number(int fd)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return -errno;
	return ntohs(address.sin6_port); /* sin_port is at the same offset */
}

/* Binds TCP, UDP and the unix name of `number` (0 = any). 0 or -errno. */
static int try_port(struct port *port, int number)
{
	int fds[PORT_SOCKETS] = {-1, -1, -1};
	int result = fds[PORT_TCP] = bind_socket(SOCK_STREAM, number);

	if (result >= 0)
		result = port->number = bound_number(fds[PORT_TCP]);
	if (result == PROCESS_RESERVED_PORT)
		result = -EADDRINUSE;
	if (result >= 0)
		result = fds[PORT_UDP] = bind_socket(SOCK_DGRAM, port->number);
	if (result >= 0)
		result = fds[PORT_LINKS] = link_bind_name(port->number);
	if (result >= 0 && (listen(fds[PORT_LINKS], SOMAXCONN) || (secret_is_set() && listen(fds[PORT_TCP], SOMAXCONN))))
		result = -errno;
	for (int i = 0; i < PORT_SOCKETS; i++) {
		port->sockets[i] = (struct progress_watch){.fd = fds[i]};
		if (result >= 0)
			progress_watch_own(&port->sockets[i]);
		else if (fds[i] >= 0)
			close(fds[i]);
	}
	if (result < 0)
		return result;
	link_accept_on(&port->links, fds[PORT_LINKS], port->number, link_accept_unix);
	if (secret_is_set())
		link_accept_on(&port->tcp, fds[PORT_TCP], port->number, link_accept_tcp);
	return 0;
}

static int open_port(struct port *port)
{
	int low, high, result = -EADDRINUSE;

	if (settings_port_range(&low, &high))
		return -EINVAL;
	if (low)
		for (int number = low; number <= high && result == -EADDRINUSE; number++)
			result = try_port(port, number);
	else
		for (int i = 0; i < BIND_ATTEMPTS && result == -EADDRINUSE; i++)
			result = try_port(port, 0);
	if (result && low)
		log_error("no port of SOFTVERBS_PORT_RANGE=%d-%d can be bound (%s): widen it, a process takes "
			  "one TCP and UDP port for every %d queue pairs",
			  low, high, strerror(-result), PROCESS_QPS_PER_PORT);
	else if (result)
		log_error("no free port: %s", strerror(-result));
	return result;
}

/* Returns 0 if that port is not open yet. */
static int number_at(int index)
{
	HOLD_LOCK(&engine->ports->lock);
	return index < engine->ports->port_count ? engine->ports->ports[index].number : 0;
}

int process_port_at(int index)
{
	int result, cancel;

	if (index >= PROCESS_MAX_PORTS)
		return -ENOMEM;
	cancel = cancel_put_off();
	secret_is_set(); /* fixes the secret from here on */
	result = progress_start();
	if (result)
		goto restore_cancel;
	gid_table_follow();
	result = number_at(index);
	if (result)
		goto restore_cancel;
	progress_hold_forks();
	pthread_mutex_lock(&engine->ports->lock);
	while (!result && engine->ports->port_count <= index) {
		result = open_port(&engine->ports->ports[engine->ports->port_count]);
		if (!result)
			engine->ports->port_count++;
	}
	if (!result)
		result = engine->ports->ports[index].number;
	pthread_mutex_unlock(&engine->ports->lock);
	progress_let_forks();
restore_cancel:
	cancel_restore(cancel);
	return result;
}

int process_index_of_port(int number)
{
	HOLD_LOCK(&engine->ports->lock);
	for (int i = 0; i < engine->ports->port_count; i++)
		if (engine->ports->ports[i].number == number)
			return i;
	return -1;
}

int process_socket(int number, enum port_socket kind)
{
	int index = process_index_of_port(number);

	return index < 0 ? -1 : engine->ports->ports[index].sockets[kind].fd;
}

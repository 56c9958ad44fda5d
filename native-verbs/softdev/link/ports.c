/* SPDX-License-Identifier: Apache-2.0 */
#include "link/ports.h"

#include "core.h"
#include "device/gid_table.h"
#include "engine.h"
#include "link/link_listen.h"
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
	int tcp_fd; /* reserves the number; listens only if a secret is set */
	int udp_fd;
	int datagram_fd; /* reserves the name; listens once there is a UD queue pair */
};

struct ports_state {
	pthread_mutex_t lock;
	struct port ports[PROCESS_MAX_PORTS];
	int port_count;
};

ENGINE_PART(ports, NULL);

void ports_after_fork_in_child(void)
{
	for (int i = 0; i < engine->ports->port_count; i++) {
		close(engine->ports->ports[i].tcp_fd);
		close(engine->ports->ports[i].udp_fd);
		close(engine->ports->ports[i].datagram_fd);
	}
}

/* SO_REUSEADDR, so that old connections of an earlier process do not keep the port. */
static int open_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd >= 0 && type == SOCK_STREAM && secret_is_set())
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

static int bind_socket(int type, int number)
{
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(number)};
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(number)};
	int off = 0;
	int fd = open_socket(AF_INET6, type);

	if (fd >= 0) {
		if (!setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) &&
		    !bind(fd, (struct sockaddr *)&any6, sizeof(any6)))
			return fd;
		off = errno;
		close(fd);
		errno = off;
		if (errno == EADDRINUSE)
			return -errno;
	}
	fd = open_socket(AF_INET, type);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&any4, sizeof(any4)))
		return fd;
	off = errno;
	close(fd);
	return -off;
}

static int bound_number(int fd)
{
	struct sockaddr_in6 address;
	socklen_t length = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return -errno;
	return ntohs(address.sin6_port); /* sin_port is at the same offset */
}

/* Binds TCP, UDP and the unix names of `number` (0 = any). 0 or -errno. */
static int try_port(struct port *port, int number)
{
	int result;

	port->tcp_fd = bind_socket(SOCK_STREAM, number);
	if (port->tcp_fd < 0)
		return port->tcp_fd;
	port->number = result = bound_number(port->tcp_fd);
	if (result == PROCESS_RESERVED_PORT)
		result = -EADDRINUSE;
	if (result < 0)
		goto close_tcp;
	port->udp_fd = result = bind_socket(SOCK_DGRAM, port->number);
	if (result < 0)
		goto close_tcp;
	port->datagram_fd = result = link_bind_name(port->number, LINK_DATAGRAM_SUFFIX, SOCK_SEQPACKET);
	if (result < 0)
		goto close_udp;
	result = link_listen(port->number, secret_is_set() ? port->tcp_fd : -1);
	if (!result)
		return 0;
	close(port->datagram_fd);
close_udp:
	close(port->udp_fd);
close_tcp:
	close(port->tcp_fd);
	return result;
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
	int number;

	pthread_mutex_lock(&engine->ports->lock);
	number = index < engine->ports->port_count ? engine->ports->ports[index].number : 0;
	pthread_mutex_unlock(&engine->ports->lock);
	return number;
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

int process_port(void)
{
	return process_port_at(0);
}

int process_index_of_port(int number)
{
	int index = -1;

	pthread_mutex_lock(&engine->ports->lock);
	for (int i = 0; i < engine->ports->port_count; i++)
		if (engine->ports->ports[i].number == number)
			index = i;
	pthread_mutex_unlock(&engine->ports->lock);
	return index;
}

int process_udp_socket(int number)
{
	int index = process_index_of_port(number);

	return index < 0 ? -1 : engine->ports->ports[index].udp_fd;
}

int process_datagram_socket(int number)
{
	int index = process_index_of_port(number);

	return index < 0 ? -1 : engine->ports->ports[index].datagram_fd;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link/link_listen.h"

#include "link/link_internal.h"
#include "process/log.h"
#include "process/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

struct link_listener {
	struct progress_watch watch;
	struct progress_task start;
	struct progress_timer retry; /* set when descriptors or kernel memory are short */
	bool is_tcp;
	uint16_t port;
};

#define RETRY_NS 100000000ull

socklen_t link_socket_name(uint16_t port, const char *suffix, struct sockaddr_un *name)
{
	int room = sizeof(name->sun_path) - 1, used;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	used = snprintf(name->sun_path + 1, room, "softverbs.%u%s", port, suffix);
	return used < room ? offsetof(struct sockaddr_un, sun_path) + 1 + used : 0;
}

struct link_place link_listener_place(int fd, bool is_client)
{
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t length = sizeof(address);
	struct link_place place = {.network = 0};
	struct statx about;
	int error = is_client ? getpeername(fd, (struct sockaddr *)&address, &length)
			      : getsockname(fd, (struct sockaddr *)&address, &length);

	if (!error && address.sun_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
	    length <= sizeof(address))
		memcpy(place.name, address.sun_path, length - offsetof(struct sockaddr_un, sun_path));
	if (!statx(AT_FDCWD, "/proc/self/ns/net", 0, STATX_INO, &about))
		place.network = about.stx_ino;
	return place;
}

int link_bind_name(uint16_t port, const char *suffix, int type)
{
	struct sockaddr_un name;
	socklen_t length = link_socket_name(port, suffix, &name);
	int fd, error;

	if (!length)
		return -ENOENT;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&name, length))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static void pause_listening(struct link_listener *listener)
{
	progress_watch_remove(&listener->watch);
	progress_timer_set(&listener->retry, progress_now_ns() + RETRY_NS);
}

static void on_incoming(void *owner, uint32_t events)
{
	struct link_listener *listener = owner;
	int fd = accept4(listener->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd >= 0) {
		if (listener->is_tcp)
			link_accept_tcp(fd, listener->port);
		else
			link_accept_unix(fd);
	} else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
		log_error("accept: %s", strerror(errno));
		pause_listening(listener);
	}
}

static void start_watching(void *owner)
{
	struct link_listener *listener = owner;
	int error = progress_watch_set(&listener->watch, EPOLLIN);

	if (!error)
		return;
	log_error("cannot listen on port %u: %s", listener->port, strerror(-error));
	pause_listening(listener);
}

static struct link_listener *new_listener(int fd, bool is_tcp, uint16_t port)
{
	struct link_listener *listener = calloc(1, sizeof(*listener));

	if (!listener)
		return NULL;
	*listener = (struct link_listener){
		.watch = {.fd = fd, .callback = on_incoming, .owner = listener},
		.start = {.callback = start_watching, .owner = listener},
		.retry = {.callback = start_watching, .owner = listener},
		.is_tcp = is_tcp,
		.port = port,
	};
	return listener;
}

int link_listen(uint16_t port, int tcp_fd)
{
	struct link_listener *local = NULL, *tcp = NULL;
	int fd = link_bind_name(port, "", SOCK_STREAM), error = -ENOMEM;

	if (fd < 0)
		return fd;
	if (listen(fd, SOMAXCONN)) {
		error = -errno;
		goto close_fd;
	}
	local = new_listener(fd, false, port);
	if (!local)
		goto close_fd;
	if (tcp_fd >= 0) {
		tcp = new_listener(tcp_fd, true, port);
		if (!tcp)
			goto free_local;
		if (listen(tcp_fd, SOMAXCONN)) {
			error = -errno;
			goto free_tcp;
		}
		progress_post(&tcp->start);
	}
	progress_watch_own(&local->watch);
	progress_post(&local->start);
	return 0;

free_tcp:
	free(tcp);
free_local:
	free(local);
close_fd:
	close(fd);
	return error;
}

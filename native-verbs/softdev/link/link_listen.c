/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link_listen.h"

#include "link_internal.h"
#include "log.h"
#include "progress.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct link_listener {
	struct progress_watch watch;
	struct progress_task start;
	struct progress_timer retry; /* after a shortage of descriptors */
	bool is_tcp;
	uint16_t port;
};

#define RETRY_NS 100000000ull

socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name)
{
	char target[64];
	unsigned long inode;
	ssize_t length = readlink("/proc/self/ns/net", target, sizeof(target) - 1);
	int used;

	if (length < 0)
		return 0;
	target[length] = 0;
	if (sscanf(target, "net:[%lu]", &inode) != 1)
		return 0;
	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	used = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "softverbs.%lu.%u", inode, port);
	return offsetof(struct sockaddr_un, sun_path) + 1 + used;
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
		progress_watch_remove(&listener->watch);
		progress_timer_set(&listener->retry, progress_now_ns() + RETRY_NS);
	}
}

static void start_watching(void *owner)
{
	struct link_listener *listener = owner;

	progress_watch_set(&listener->watch, EPOLLIN);
}

/* Takes over fd, which listens, when it succeeds. */
static struct link_listener *listen_on(int fd, bool is_tcp, uint16_t port)
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
	progress_post(&listener->start);
	return listener;
}

struct link_listener *link_listen(uint16_t port, int *error)
{
	struct link_listener *listener;
	struct sockaddr_un name;
	socklen_t length = link_socket_name(port, &name);
	int fd;

	if (!length) {
		*error = -ENOENT;
		return NULL;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		*error = -errno;
		return NULL;
	}
	if (bind(fd, (struct sockaddr *)&name, length) || listen(fd, SOMAXCONN)) {
		*error = -errno;
		goto close_fd;
	}
	listener = listen_on(fd, false, port);
	if (listener)
		return listener;
	*error = -ENOMEM;
close_fd:
	close(fd);
	return NULL;
}

int link_listen_tcp(int fd, uint16_t port)
{
	if (listen(fd, SOMAXCONN))
		return -errno;
	return listen_on(fd, true, port) ? 0 : -ENOMEM;
}

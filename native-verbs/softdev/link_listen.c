/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link_listen.h"

#include "link_internal.h"
#include "log.h"
#include "progress.h"

#include <errno.h>
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
		link_accept(fd);
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

struct link_listener *link_listen(uint16_t port, int *error)
{
	struct link_listener *listener = calloc(1, sizeof(*listener));
	struct sockaddr_un name;
	socklen_t length = link_socket_name(port, &name);
	int fd;

	if (!listener || !length) {
		*error = listener ? -ENOENT : -ENOMEM;
		goto free_listener;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		*error = -errno;
		goto free_listener;
	}
	if (bind(fd, (struct sockaddr *)&name, length) || listen(fd, SOMAXCONN)) {
		*error = -errno;
		goto close_fd;
	}
	listener->watch = (struct progress_watch){.fd = fd, .callback = on_incoming, .owner = listener};
	listener->start = (struct progress_task){.callback = start_watching, .owner = listener};
	listener->retry = (struct progress_timer){.callback = start_watching, .owner = listener};
	progress_post(&listener->start);
	return listener;

close_fd:
	close(fd);
free_listener:
	free(listener);
	return NULL;
}

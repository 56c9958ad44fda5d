/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "link/link_listen.h"

#include "engine.h"
#include "process/cancel.h"
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#define RETRY_NS 100000000ull
#define SILENCE_NS 60000000000ull

socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name)
{
	int used;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	used = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "softverbs.%u", port);
	return offsetof(struct sockaddr_un, sun_path) + 1 + used;
}

struct link_listen_state {
	pthread_once_t once;
	char boot[LINK_BOOT_BYTES]; /* empty if unknown */
	atomic_bool told;
};

ENGINE_PART(link_listen, NULL);

static void read_boot(void)
{
	char *boot = engine->link_listen->boot;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (read(fd, boot, LINK_BOOT_BYTES - 1) < 0)
		*boot = '\0';
	close(fd);
}

/* Returns where this process is. Every field is zeros if any of it is unknown. */
static struct link_place own_place(void)
{
	struct link_place place = {.network = 0};
	struct statx about;
	int cancel = cancel_put_off();

	pthread_once(&engine->link_listen->once, read_boot);
	if (*engine->link_listen->boot && !statx(AT_FDCWD, "/proc/self/ns/net", 0, STATX_INO, &about) && about.stx_ino) {
		memcpy(place.boot, engine->link_listen->boot, sizeof(place.boot));
		place.network = about.stx_ino;
	}
	cancel_restore(cancel);
	return place;
}

bool link_knows_its_place(void)
{
	bool known = own_place().network;

	if (!known && !atomic_exchange(&engine->link_listen->told, true))
		log_error("there is no /proc, which tells of which boot and network this process is, so it cannot prove its "
			  "secret to processes of this host: mount it, or set SOFTVERBS_PATH=tcp");
	return known;
}

struct link_place link_listener_place(int fd, bool is_client)
{
	struct sockaddr_un address = {.sun_family = AF_UNSPEC};
	socklen_t length = sizeof(address);
	struct link_place place = own_place();
	int error = is_client ? getpeername(fd, (struct sockaddr *)&address, &length)
			      : getsockname(fd, (struct sockaddr *)&address, &length);

	if (!error && address.sun_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path) &&
	    length <= sizeof(address))
		memcpy(place.name, address.sun_path, length - offsetof(struct sockaddr_un, sun_path));
	return place;
}

static int open_name(uint16_t port, bool connects)
{
	struct sockaddr_un name;
	socklen_t length = link_socket_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error;

	if (fd < 0)
		return -errno;
	if (!(connects ? connect(fd, (struct sockaddr *)&name, length) : bind(fd, (struct sockaddr *)&name, length)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int link_bind_name(uint16_t port)
{
	return open_name(port, false);
}

int link_connect_name(uint16_t port)
{
	return open_name(port, true);
}

/* Tries again a little later, and says why once in a while. */
static void pause_listening(struct link_listener *listener, int error)
{
	uint64_t now = progress_now_ns();

	if (now >= listener->silent_until_ns) {
		log_error("nobody can connect to port %u for now: %s", listener->port, strerror(error));
		listener->silent_until_ns = now + SILENCE_NS;
	}
	progress_watch_remove(&listener->watch);
	progress_timer_set(&listener->retry, now + RETRY_NS);
}

static void on_incoming(void *owner, uint32_t events)
{
	struct link_listener *listener = owner;
	int fd;

	(void)events;
	if (!strangers_have_room(&listener->outside)) {
		progress_watch_remove(&listener->watch);
		return;
	}
	fd = accept4(listener->watch.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		listener->on_accept(fd, listener->port);
	else if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
		pause_listening(listener, errno);
}

static void start_watching(void *owner)
{
	struct link_listener *listener = owner;
	int error = progress_watch_set(&listener->watch, EPOLLIN);

	if (error)
		pause_listening(listener, -error);
}

void link_accept_on(struct link_listener *listener, int fd, uint16_t port, void (*on_accept)(int fd, uint16_t port))
{
	*listener = (struct link_listener){
		.on_accept = on_accept,
		.port = port,
		.watch = {.fd = fd, .callback = on_incoming, .owner = listener},
		.start = {.callback = start_watching, .owner = listener},
		.retry = {.callback = start_watching, .owner = listener},
		.outside = {.on_room = start_watching, .owner = listener},
	};
	progress_post(&listener->start); /* whoever connects before it runs waits in the backlog */
}

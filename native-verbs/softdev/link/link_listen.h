/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening ends of links: the abstract unix socket "softverbs.<port>" and TCP. Whoever binds a name first has it, so a
 * process binds the name together with the port.
 */
#ifndef SOFTDEV_LINK_LISTEN_H
#define SOFTDEV_LINK_LISTEN_H

#include "link/strangers.h"
#include "process/progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/* A socket on which connections are accepted, embedded in its owner, which lives as long as the process. */
struct link_listener {
	void (*on_accept)(int fd, uint16_t port); /* takes the new socket over; progress thread */
	uint16_t port;
	struct progress_watch watch;
	struct progress_task start;
	struct progress_timer retry; /* set when descriptors or kernel memory are short */
	uint64_t silent_until_ns;    /* a shortage has been reported, and is not until then */
	struct outside outside;
};

/*
 * Accepts the connections of `fd`, a listening socket of `port`. The child of a fork closes it, because it belongs to the
 * ports (ports.h). Any thread.
 */
void link_accept_on(struct link_listener *listener, int fd, uint16_t port, void (*on_accept)(int fd, uint16_t port));

/* Writes the unix name of `port`. Returns its length. */
socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name);

enum { LINK_BOOT_BYTES = 40 };

/* Where a process listens on a unix socket. No two listeners have the same place, whoever created them, on whatever host. */
struct link_place {
	char boot[LINK_BOOT_BYTES]; /* as the kernel names its own start: other hosts give namespaces the same inodes */
	uint64_t network;	    /* inode of the network namespace that the name belongs to */
	char name[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* as the kernel reports it, padded with zeros */
};

/*
 * Returns false, and says so once, if the kernel does not tell this process where it is (there is no /proc): no proof can
 * then be bound to a place. Any thread.
 */
bool link_knows_its_place(void);
/*
 * Returns the place of the listener of this connection. Both ends must compute the same value, since it binds a proof
 * to one listener. An unknown name is all zeros, which no listener has.
 */
struct link_place link_listener_place(int fd, bool is_client);

/*
 * Return a socket, close-on-exec and non-blocking, that is bound to the unix name of `port` or connected to its listener, or
 * -errno. Any thread.
 */
int link_bind_name(uint16_t port);
int link_connect_name(uint16_t port);

#endif

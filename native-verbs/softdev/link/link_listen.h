/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening ends of links: the abstract unix socket "softverbs.<port>" and TCP. Other unix sockets of a port have
 * the same name with a suffix. Whoever binds a name first has it, so a process binds all names of a port together with
 * the port.
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
	struct strangers *strangers; /* the callee lets those that it accepts enter and leave */
	struct outside outside;
};

/*
 * Accepts the connections of `fd`, a listening socket of `port`. The child of a fork closes it, because it belongs to the
 * ports (ports.h). Any thread.
 */
void link_accept_on(struct link_listener *listener, int fd, uint16_t port, void (*on_accept)(int fd, uint16_t port),
		    struct strangers *strangers);

/* The suffix of the unix socket for datagrams (datagram/ud_endpoint.h), whose name is bound together with the port. */
#define LINK_DATAGRAM_SUFFIX ".ud"

/* Writes the unix name of `port` with the suffix. Returns its length, or 0 if the name is too long. */
socklen_t link_socket_name(uint16_t port, const char *suffix, struct sockaddr_un *name);

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
 * Return a socket of the given type, close-on-exec and non-blocking, that is bound to the name or connected to its
 * listener, or -errno. Any thread.
 */
int link_bind_name(uint16_t port, const char *suffix, int type);
int link_connect_name(uint16_t port, const char *suffix, int type);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening ends of links: the abstract unix socket "softverbs.<port>", and TCP. Other unix sockets of a
 * port have the same name with a suffix: whoever is first has a name, so a name that must not be somebody else's is bound
 * together with the port.
 */
#ifndef SOFTDEV_LINK_LISTEN_H
#define SOFTDEV_LINK_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * Takes links at the unix name of `port`, and on tcp_fd, which is bound to it (-1: none), as long as the process lives.
 * 0, or -errno: then nothing of it is left. Any thread that holds forks off.
 */
int link_listen(uint16_t port, int tcp_fd);

/* Of the unix socket for datagrams (datagram/ud_endpoint.h), whose name a process takes together with the port. */
#define LINK_DATAGRAM_SUFFIX ".ud"

/* The name with that suffix; returns its length, 0 if the network namespace cannot be told or the name is too long. */
socklen_t link_socket_name(uint16_t port, const char *suffix, struct sockaddr_un *name);

/* Where a process listens on a unix socket: no two places are the same, whoever made them. */
struct link_place {
	uint64_t network; /* the inode of the network namespace, which the name belongs to; 0 if it cannot be told */
	char name[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* as the kernel tells it, padded with zeros */
};

/*
 * The place of the listener at one end of the connection, which both ends must see alike: for a proof that was made for one listener
 * must be none for another. Of a name that cannot be told all is zeros, which no listener has.
 */
struct link_place link_listener_place(int fd, bool is_client);

/* A socket of that type that is bound to the name, close-on-exec and non-blocking, or -errno. Any thread. */
int link_bind_name(uint16_t port, const char *suffix, int type);

#endif

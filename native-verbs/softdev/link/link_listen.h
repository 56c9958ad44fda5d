/* SPDX-License-Identifier: Apache-2.0 */
/* The listening ends of links: the abstract unix socket "softverbs.<netns inode>.<port>", and TCP. */
#ifndef SOFTDEV_LINK_LISTEN_H
#define SOFTDEV_LINK_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct link_listener;

/* NULL and *error = -errno on failure. Lives as long as the process. Any thread. */
struct link_listener *link_listen(uint16_t port, int *error);
/* Takes TCP links on a socket that is bound to that port. 0 or -errno. */
int link_listen_tcp(int fd, uint16_t port);

/* The name of a port's socket; returns its length, 0 if the network namespace cannot be told. */
socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The listening ends of links: the abstract unix socket "softverbs.<netns inode>.<port>", and TCP. */
#ifndef SOFTDEV_LINK_LISTEN_H
#define SOFTDEV_LINK_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * Takes links at the unix name of `port`, and on tcp_fd, which is bound to it (-1: none), as long as the process lives.
 * 0, or -errno: then nothing of it is left. Any thread.
 */
int link_listen(uint16_t port, int tcp_fd);

/* The name of a port's socket; returns its length, 0 if the network namespace cannot be told. */
socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The listening end of a link: the abstract unix socket "softverbs.<netns inode>.<port>". */
#ifndef SOFTDEV_LINK_LISTEN_H
#define SOFTDEV_LINK_LISTEN_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct link_listener;

/* NULL and *error = -errno on failure. Lives as long as the process. Any thread. */
struct link_listener *link_listen(uint16_t port, int *error);

/* The name of a port's socket; returns its length, 0 if the network namespace cannot be told. */
socklen_t link_socket_name(uint16_t port, struct sockaddr_un *name);

#endif

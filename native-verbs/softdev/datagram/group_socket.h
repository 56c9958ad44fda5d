/* SPDX-License-Identifier: Apache-2.0 */
/* Multicast groups between hosts: the IP group of the same address, on one well-known port. */
#ifndef SOFTDEV_GROUP_SOCKET_H
#define SOFTDEV_GROUP_SOCKET_H

#include <infiniband/verbs.h>
#include <sys/socket.h>

/* A socket that hears what other hosts send to the group; a descriptor or -errno. */
int group_socket_open(const union ibv_gid *gid);

/* To other hosts, from the interface that has the source's address. 0 or -errno. Any thread. */
int group_socket_send(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The IP side of multicast groups. */
#ifndef SOFTDEV_GROUP_SOCKET_H
#define SOFTDEV_GROUP_SOCKET_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <sys/socket.h>

/* A socket that hears what this host sends to the group, or what others do; a descriptor or -errno. */
int group_open_local(const union ibv_gid *gid);
int group_open_remote(const union ibv_gid *gid);

/* 0 or -errno. Any thread. */
int group_send_local(const union ibv_gid *gid, struct msghdr *message);
int group_send_remote(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message);

/* Was what came from that address (of this host) sent by a process of this user? */
bool group_sender_is_own_user(const struct sockaddr_in *from);

#endif

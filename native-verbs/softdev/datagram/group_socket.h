/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups between hosts: the IP group of the same address, on one well-known port. IPv6 groups of a scope that ends
 * at the interface or at the link (ff00 to ff02, and ff01 is what perftest takes) travel as those of the site (ff05): IP
 * would not let them out, or not without naming the interface. So the header decides whether what comes in is for a group.
 */
#ifndef SOFTDEV_GROUP_SOCKET_H
#define SOFTDEV_GROUP_SOCKET_H

#include <infiniband/verbs.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket for what other hosts send to the group, which hears nothing yet; a descriptor or -errno. */
int group_socket_open(const union ibv_gid *gid);

/* From here on it hears what comes in by that interface, or no more. 0 or -errno. */
int group_socket_join(int fd, const union ibv_gid *gid, uint32_t interface);
void group_socket_leave(int fd, const union ibv_gid *gid, uint32_t interface);

/* To other hosts, from the interface that has the source's address. 0 or -errno. Any thread. */
int group_socket_send(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message);

#endif

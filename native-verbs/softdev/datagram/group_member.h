/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of this host have queue pairs in a group. Each binds an abstract unix socket whose name is that of its
 * port and of the group, "softverbs.<port>.mc.<GID>.<token>"; nothing is ever sent to it. Who sends to the
 * group finds these names in /proc/net/unix, a moment late at most, and sends to each process as to any other. The token
 * is a random number, so that nobody holds the name before its owner does, and an HMAC of all that with the secret.
 */
#ifndef SOFTDEV_GROUP_MEMBER_H
#define SOFTDEV_GROUP_MEMBER_H

#include <infiniband/verbs.h>
#include <stdint.h>

enum { GROUP_MAX_PROCESSES = 1024 };

/* A descriptor that makes the process of that port a member until it is closed, or -errno. */
int group_become_member(uint16_t port, const union ibv_gid *gid);

/* Fills the ports of the members that datagrams can go to, ascending; how many. Any thread, no lock held. */
int group_find_members(const union ibv_gid *gid, uint16_t ports[GROUP_MAX_PROCESSES]);

#endif

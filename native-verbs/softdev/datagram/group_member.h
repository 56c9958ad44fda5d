/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes of this host have queue pairs in a group. Each binds an abstract unix socket whose name is that of its
 * port and of the group, "softverbs.<netns inode>.<port>.mc.<GID>"; nothing is ever sent to it. Who sends to the group
 * finds these names in /proc/net/unix, a moment late at most, and sends to each process as to any other.
 */
#ifndef SOFTDEV_GROUP_MEMBER_H
#define SOFTDEV_GROUP_MEMBER_H

#include <infiniband/verbs.h>
#include <stdint.h>

enum { GROUP_MAX_PROCESSES = 1024 };

/* A descriptor that makes the process of that port a member until it is closed, or -errno. */
int group_become_member(uint16_t port, const union ibv_gid *gid);

/* Fills the ports of the members, ascending; how many. Any thread. */
int group_find_members(const union ibv_gid *gid, uint16_t ports[GROUP_MAX_PROCESSES]);

#endif

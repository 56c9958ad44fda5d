/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups: which queue pairs of this process are attached to which, and how their datagrams travel. A datagram
 * goes to each process of this host that has queue pairs in the group (group_member.h), as one to a queue pair does, and,
 * with a secret, once to the IP group of that address for other hosts (group_socket.h).
 */
#ifndef SOFTDEV_GROUP_H
#define SOFTDEV_GROUP_H

#include "datagram/ud.h"

#include <stdbool.h>

enum { GROUP_PORT = 14791 };

/* An IPv4 group has one GID, ::ffff:a.b.c.d, however it is written (ffxx::ffff:a.b.c.d); others stay. */
void group_normalize(union ibv_gid *gid);

/*
 * As ud_peer_send(). -EAGAIN: the process of port *next has no room; those before it are served, and called again with it
 * the others will be. 0 to begin with, and at the end.
 */
int group_send(const struct ud_address *to, struct msghdr *message, uint16_t *next);

/* What came for a group: as ud_receive() for each member. Progress thread. */
void group_deliver(const struct ud_header *header, uint8_t *payload, uint32_t length, int most);

/* How many groups the queue pair is attached to. Any thread. */
int group_count_of(const struct softdev_qp *qp);

#endif

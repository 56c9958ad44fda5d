/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups: which queue pairs of this process are attached to which, and how their datagrams travel. A datagram
 * goes once over the loopback interface, for all processes of this host, and, with a secret, once to the IP group of
 * that address for other hosts, from the interface that has the sender's address. Every process that is attached has
 * sockets for both on one well-known port.
 */
#ifndef SOFTDEV_GROUP_H
#define SOFTDEV_GROUP_H

#include "ud.h"

#include <stdbool.h>

enum {
	GROUP_PORT = 14791,
	MAX_GROUPS = 1024,
	MAX_GROUP_MEMBERS = DEVICE_MAX_QP,
};

/* An IPv4 group has one GID, ::ffff:a.b.c.d, however it is written (ffxx::ffff:a.b.c.d); others stay. */
void group_normalize(union ibv_gid *gid);

/* As ud_peer_send(). */
int group_send(const struct ud_address *to, struct msghdr *message);

/* How many groups the queue pair is attached to. Any thread. */
int group_count_of(const struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multicast groups of datagrams. A group is an IP group: a datagram for it is sent once, by UDP, and the kernels of the
 * network bring it to every process that has joined, those of this host included. A process has one socket for each of its
 * groups, on a port that all processes share, and hands what arrives to its queue pairs that are attached.
 *
 * Without a secret they stay within the host.
 */
#ifndef SOFTDEV_MCAST_H
#define SOFTDEV_MCAST_H

#include "datagram/ud.h"

enum { UD_GROUP_PORT = 24791, UD_GROUP_QPN = 0xffffff };

/* Sends to the group that is the destination, from `port` of this process. As ud_socket_send(). */
int mcast_send(const struct ud_address *to, uint16_t port, struct msghdr *message);
/* Returns true if the queue pair is attached to a group. Any thread. */
bool mcast_has(const struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose datagrams are taken. With a secret those that are signed with it. Without one those of processes of this host that
 * are of the same user, and none are sent to others: a datagram goes from the UDP port of one process to that of another,
 * which nobody else can use meanwhile, and the kernel tells whose process holds the unix name of that port.
 */
#ifndef SOFTDEV_UD_GENUINE_H
#define SOFTDEV_UD_GENUINE_H

#include "datagram/ud_wire.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Notes that a datagram is sent and, if there is a secret, fills counter and HMAC. Any thread. */
void ud_sign(struct ud_header *header);
/* Without a secret: returns true if that port of this host belongs to a process of the same user. Any thread, no lock held. */
bool ud_is_own_users(uint16_t port);
/*
 * Returns true if the bytes, which anybody may have sent, are a whole datagram of this version from a permitted sender.
 * `from` is a sockaddr_in or a sockaddr_in6.
 */
bool ud_is_genuine(const struct ud_header *header, size_t length, const struct sockaddr_in6 *from);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where datagrams arrive for the queue pairs of one port of this process: at a unix listener from processes of this host
 * and, with a secret, at the UDP socket of that port from other hosts. Without a secret the sender must be of the same
 * user, and nothing is read from UDP. With one, every datagram must prove that its sender knows it.
 */
#ifndef SOFTDEV_UD_ENDPOINT_H
#define SOFTDEV_UD_ENDPOINT_H

#include "datagram/ud_wire.h"

#include <stdint.h>

/* Opens the endpoint of that port, which stays open, if it is not open yet. 0 or -errno. Any thread. */
int ud_open_endpoint(uint16_t port);

/* Fills counter and HMAC. Any thread. */
void ud_sign(struct ud_header *header);
/* Returns true if the bytes, which anybody may have sent, are a whole datagram of this version from a permitted sender. */
bool ud_is_genuine(const struct ud_header *header, size_t length);

#endif

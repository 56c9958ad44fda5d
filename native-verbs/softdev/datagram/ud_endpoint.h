/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where datagrams come in for the queue pairs of one port of this process: a unix listener for processes of this host,
 * and, with a secret, the UDP socket of that port for others. Without a secret the sender must be of the same user,
 * and nothing is read from UDP; with one, every datagram must prove that its sender knows it.
 */
#ifndef SOFTDEV_UD_ENDPOINT_H
#define SOFTDEV_UD_ENDPOINT_H

#include "datagram/ud_wire.h"

#include <stdint.h>

/* Opens the endpoint of that port if it is not open yet; it lives as long as the process. 0 or -errno. Any thread. */
int ud_open_endpoint(uint16_t port);

/* Fills counter and HMAC. Any thread. */
void ud_sign(struct ud_header *header);
/* What anybody may have sent: is it a whole datagram of this version, and from one who may send? */
bool ud_is_genuine(const struct ud_header *header, size_t length);

#endif

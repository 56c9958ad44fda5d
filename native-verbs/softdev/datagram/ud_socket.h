/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to other hosts, over UDP. They need a secret: without one nothing is sent, and nothing received. */
#ifndef SOFTDEV_UD_SOCKET_H
#define SOFTDEV_UD_SOCKET_H

#include "datagram/ud.h"

#include <stdbool.h>

/* Sends from the UDP socket of `port` of this process. As ud_peer_send(). */
int ud_socket_send(const struct ud_address *to, uint16_t port, struct msghdr *message);

/* SOFTVERBS_PATH=tcp: datagrams within the host go over UDP too. */
bool ud_udp_is_forced(void);

/* UDP has no back-pressure, so room for a burst: more than the host's limit where that is allowed. */
void ud_enlarge_receive_buffer(int fd);

#endif

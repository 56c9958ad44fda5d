/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams to other hosts, over UDP. Without a secret none are sent or received. */
#ifndef SOFTDEV_UD_SOCKET_H
#define SOFTDEV_UD_SOCKET_H

#include "datagram/ud.h"

#include <stdbool.h>

/* Sends from a UDP socket of this process to that port of the destination. As ud_peer_send(). */
int ud_socket_send_to(const struct ud_address *to, int fd, uint16_t port, struct msghdr *message);
/* The same from the UDP socket of `port` of this process, to the process that the number of the queue pair names. */
int ud_socket_send(const struct ud_address *to, uint16_t port, struct msghdr *message);

/* Returns true if datagrams within the host go over UDP, too (SOFTVERBS_PATH=tcp). */
bool ud_udp_is_forced(void);

/* Makes room for a burst, because UDP has no back-pressure; more than the limit of the host, where that is allowed. */
void ud_enlarge_receive_buffer(int fd);

#endif

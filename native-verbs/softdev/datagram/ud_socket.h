/* SPDX-License-Identifier: Apache-2.0 */
/* Sends datagrams. Without a secret none are sent to other hosts, nor to processes of other users. */
#ifndef SOFTDEV_UD_SOCKET_H
#define SOFTDEV_UD_SOCKET_H

#include "datagram/ud.h"

/*
 * Sends from a UDP socket of this process to that port of the destination. Returns 0 if the datagram is sent or lost, or
 * -EFAULT if the payload cannot be read. A thread that is not the progress thread waits for room for at most 0.3 s.
 */
int ud_socket_send_to(const struct ud_address *to, int fd, uint16_t port, struct msghdr *message);
/* The same from the UDP socket of `port` of this process, to the process that the number of the queue pair names. */
int ud_socket_send(const struct ud_address *to, uint16_t port, struct msghdr *message);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections over which this process sends datagrams to others of this host. They are unix sockets, which keep messages
 * apart and in order, lose none while the receiver lives, and tell when there is room again. There is one for each port,
 * from its first use until the receiver is gone.
 */
#ifndef SOFTDEV_UD_PEER_H
#define SOFTDEV_UD_PEER_H

#include "process/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ud_peer;

/*
 * Returns 0 if the datagram is sent, or lost because nobody receives at that port; -EAGAIN if the receiver has no room
 * or has not proved the secret yet; -EFAULT if the payload cannot be read. Any thread.
 */
int ud_peer_send(uint16_t port, const struct msghdr *message);

/* Notes that the receiver has had no room for so long that datagrams to it are lost until it takes one. */
void ud_peer_give_up(uint16_t port);

/* Embedded in its owner, which waits for room. It begins as zeros except for callback and owner. Progress thread only. */
struct ud_waiter {
	void (*callback)(void *owner);
	void *owner;
	struct list waiting; /* in the list of a peer */
};

/* Calls back once when there may be room at that port. Has no effect if there is no connection to it. */
void ud_peer_wait(uint16_t port, struct ud_waiter *waiter);
void ud_peer_cancel(struct ud_waiter *waiter);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections over which this process sends datagrams to others of this host: unix sockets that keep messages apart
 * and in order, lose none while the receiver lives, and say when there is room again. Made on first use, one for
 * each port; gone when the receiver is.
 */
#ifndef SOFTDEV_UD_PEER_H
#define SOFTDEV_UD_PEER_H

#include "process/list.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct ud_peer;

/*
 * 0: sent, or lost because nobody is there or nobody takes anything. -EAGAIN: the receiver has no room, or has not proved
 * the secret yet: try again.
 * -EFAULT: the payload cannot be read. Any thread.
 */
int ud_peer_send(uint16_t port, const struct msghdr *message);

/* Notes that the receiver has had no room for so long that datagrams to it count as lost until it takes one. */
void ud_peer_give_up(uint16_t port);

/* Embedded in who waits for room, zero-initialised but for callback and owner. Progress thread only. */
struct ud_waiter {
	void (*callback)(void *owner);
	void *owner;
	struct list waiting; /* in the list of a peer */
};

/* Calls back once when there may be room at that port, perhaps at once. */
void ud_peer_wait(uint16_t port, struct ud_waiter *waiter);
void ud_peer_cancel(struct ud_waiter *waiter);

#endif

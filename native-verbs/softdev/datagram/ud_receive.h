/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers datagrams to their queue pairs. A datagram that finds no receive waits a moment for one, and others for the same
 * queue pair wait behind it, because applications post again what they have just polled. Progress thread only.
 */
#ifndef SOFTDEV_UD_RECEIVE_H
#define SOFTDEV_UD_RECEIVE_H

#include "datagram/ud.h"

#include <stdbool.h>
#include <stdint.h>

/* Datagrams of this process that may wait at a time: 64 MiB of them, what a UDP socket is asked to hold. */
enum { UD_HELD_MOST = 16384 };

/*
 * A genuine datagram. False: nothing was done, for as many as `most` wait at the queue pair of its header, or the process holds
 * UD_HELD_MOST.
 */
bool ud_deliver(const struct ud_header *header, uint8_t *payload, uint32_t length, int most);

void ud_receive_init(struct softdev_qp *qp);
/* Drops the waiting datagrams of a queue pair. */
void ud_receive_close(struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in for datagram queue pairs. One that finds no receive waits a moment for it, and what comes for the same
 * queue pair waits behind it: applications post again what they have just polled. Progress thread only.
 */
#ifndef SOFTDEV_UD_RECEIVE_H
#define SOFTDEV_UD_RECEIVE_H

#include "datagram/ud.h"

#include <stdbool.h>
#include <stdint.h>

/* Datagrams of this process that may wait at a time: 64 MiB of them, what a UDP socket is asked to hold. */
enum { UD_HELD_MOST = 16384 };

/*
 * A genuine datagram, for one queue pair or for those in its header. False: nothing was done, for as many as `most` wait at
 * that queue pair (of a group: those where it cannot wait go without). The payload is as it was when this returns.
 */
bool ud_receive(struct softdev_qp *qp, const struct ud_header *header, uint8_t *payload, uint32_t length, int most);
bool ud_deliver(const struct ud_header *header, uint8_t *payload, uint32_t length, int most);

void ud_receive_init(struct softdev_qp *qp);
/* Drops what waits. */
void ud_receive_close(struct softdev_qp *qp);

#endif

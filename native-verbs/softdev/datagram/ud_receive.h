/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers datagrams to their queue pairs. Applications post receives again after they have polled them, so a datagram
 * that finds no receive waits a moment for one, and others for its queue pair wait behind it. Progress thread only.
 */
#ifndef SOFTDEV_UD_RECEIVE_H
#define SOFTDEV_UD_RECEIVE_H

#include "datagram/ud.h"

#include <stdint.h>

/* Delivers a genuine datagram to its queue pair, or holds it. `unused` makes it a callback of ud_inlet.h. */
void ud_deliver(void *unused, const struct ud_header *header, uint8_t *payload, uint32_t length);

/* Delivers a genuine datagram of a group to one of its queue pairs. */
void ud_deliver_to(struct softdev_qp *qp, const struct ud_header *header, uint8_t *payload, uint32_t length);

void ud_receive_init(struct softdev_qp *qp);
/* Drops the waiting datagrams of a queue pair. */
void ud_receive_close(struct softdev_qp *qp);

#endif

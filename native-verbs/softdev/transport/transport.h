/* SPDX-License-Identifier: Apache-2.0 */
/* RC and UC: what parts.c names to the folders below. */
#ifndef SOFTDEV_TRANSPORT_H
#define SOFTDEV_TRANSPORT_H

#include "queue/qp.h"

/* Of queue pairs that connect. */
extern const struct qp_transport connected_transport;

/* Takes an incoming link of a queue pair (link.h). */
void qp_on_incoming_link(struct link *link);

#endif

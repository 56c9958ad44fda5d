/* SPDX-License-Identifier: Apache-2.0 */
/* RC and UC, as parts.c names them to lower folders. */
#ifndef SOFTDEV_TRANSPORT_H
#define SOFTDEV_TRANSPORT_H

#include "queue/qp.h"

/* The operations of RC and UC. */
extern const struct qp_transport connected_transport;

/* Accepts an incoming link of a queue pair (link.h). */
void qp_on_incoming_link(struct link *link);

#endif

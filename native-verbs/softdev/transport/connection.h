/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each connection has carried, and how: a record in the queue pair from its first connect to its reset, for
 * softverbs_get_connection() and the file of SOFTVERBS_CONNECTIONS.
 */
#ifndef SOFTDEV_CONNECTION_H
#define SOFTDEV_CONNECTION_H

#include "process/counters.h"

#include <stdint.h>

struct softdev_qp;

/* For the process and for the connection; who runs the send queue, or has qp->lock, does it. */
#define COUNT_FOR(qp, field, amount)                                                               \
	do {                                                                                       \
		COUNT_ADD(field, amount);                                                          \
		__atomic_store_n(&(qp)->record.field, (qp)->record.field + (uint64_t)(amount),     \
				 __ATOMIC_RELAXED);                                                \
	} while (0)

/* The link is open: says how READs will travel, and why. qp->lock held, progress thread. */
void connection_begin(struct softdev_qp *qp);
/* The queue pair is reset: writes its record to the file, if there is one. qp->lock held. */
void connection_end(struct softdev_qp *qp);

#endif

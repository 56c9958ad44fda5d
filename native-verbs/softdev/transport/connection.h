/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each connection has carried, and how: a record in the queue pair from its first connect to its reset, for
 * softverbs_get_connection() and the file of SOFTVERBS_CONNECTIONS.
 */
#ifndef SOFTDEV_CONNECTION_H
#define SOFTDEV_CONNECTION_H

struct softdev_qp;

/* The link is open: says how READs will travel, and why. qp->lock held, progress thread. */
void connection_begin(struct softdev_qp *qp);
/* The queue pair is reset: writes its record to the file, if there is one. qp->lock held. */
void connection_end(struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each connection has carried, and by which path: a record in the queue pair from its first connect to its reset,
 * for softverbs_get_connection() and the file that SOFTVERBS_CONNECTIONS names.
 */
#ifndef SOFTDEV_CONNECTION_H
#define SOFTDEV_CONNECTION_H

struct softdev_qp;

/*
 * Begins the record when the link is open, and logs how READs will travel and why. Progress thread, with qp->lock held.
 */
void connection_begin(struct softdev_qp *qp);
/* Ends the record when the queue pair is reset: writes it to the file, if there is one. Called with qp->lock held. */
void connection_end(struct softdev_qp *qp);

#endif

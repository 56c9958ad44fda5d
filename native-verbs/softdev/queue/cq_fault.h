/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of completions. */
#ifndef SOFTDEV_CQ_FAULT_H
#define SOFTDEV_CQ_FAULT_H

#include "queue/cq.h"

/*
 * Applies the faults to a completion that is about to enter its queue. Returns true if the completion is held here and
 * comes later, with the others of its queue pair behind it, or never. The caller may hold qp->lock.
 */
bool fault_takes_completion(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* Drops the held completions of a queue pair that is reset or destroyed. */
void fault_forget_completions(const struct softdev_qp *qp);

#endif

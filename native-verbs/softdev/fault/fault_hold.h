/* SPDX-License-Identifier: Apache-2.0 */
/* Holds completions and CM events that faults delay, drop or duplicate. */
#ifndef SOFTDEV_FAULT_HOLD_H
#define SOFTDEV_FAULT_HOLD_H

#include <stdbool.h>

struct cqe;
struct softdev_cq;
struct softdev_qp;
struct cm_event;
struct cm_id;

/*
 * Applies the faults to a completion that is about to enter its queue. Returns true if the completion is held here and
 * comes later, with the others of its queue pair behind it, or never. The caller may hold qp->lock.
 */
bool fault_takes_completion(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* Drops the held completions of a queue pair that is reset or destroyed. */
void fault_forget_completions(const struct softdev_qp *qp);

/* Applies the faults to an event in its owner's list, which may change its type. Returns true if it is held here. */
bool fault_takes_event(struct cm_event *event);
/* Puts the owner's held events on its channel now, because it takes them all back. */
void fault_release_events(const struct cm_id *owner);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Completions and CM events that faults keep back: late ones, lost ones, and those that come twice. */
#ifndef SOFTDEV_FAULT_HOLD_H
#define SOFTDEV_FAULT_HOLD_H

#include <stdbool.h>

struct cqe;
struct softdev_cq;
struct softdev_qp;
struct cm_event;
struct cm_id;

/*
 * What the faults want of a completion that is about to enter its queue. True = they have it: it comes later, with
 * the others of its queue pair behind it, or never. The caller may hold qp->lock.
 */
bool fault_takes_completion(struct softdev_cq *cq, const struct cqe *entry, bool solicited);
/* The queue pair is reset or destroyed: its held completions are gone. */
void fault_forget_completions(const struct softdev_qp *qp);

/* The same for an event that is in its owner's list; its type may change. */
bool fault_takes_event(struct cm_event *event);
/* Puts the owner's held events on its channel now, for it wants them all back. */
void fault_release_events(const struct cm_id *owner);

#endif

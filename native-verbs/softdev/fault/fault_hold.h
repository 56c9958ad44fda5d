/* SPDX-License-Identifier: Apache-2.0 */
/* What faults delay, drop or duplicate is held here, in order of arrival, until it is due. */
#ifndef SOFTDEV_FAULT_HOLD_H
#define SOFTDEV_FAULT_HOLD_H

#include "process/list.h"

#include <stdbool.h>
#include <stdint.h>

#define FAULT_NEVER UINT64_MAX

/* Embedded in what is held. Its owner sets all but the first two fields. */
struct fault_held {
	struct list place;
	uint64_t due_ns;
	const void *of; /* whose it is */
	bool in_order;	/* it comes behind what is held of the same */
	void (*let_go)(struct fault_held *held); /* called with the lock of fault_hold.c held; may free it */
};

/* Holds it until then (0: only behind others). Returns false if there is nothing to wait for. The caller may hold qp->lock. */
bool fault_hold(struct fault_held *held, uint64_t due_ns);
/* Takes out all that is held of the same, and calls end() for each. */
void fault_hold_end(const void *of, void (*end)(struct fault_held *held));

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of the process (see struct softverbs_counters). */
#ifndef SOFTDEV_COUNTERS_H
#define SOFTDEV_COUNTERS_H

#include "engine.h"
#include "softverbs.h"

struct counters_state {
	struct softverbs_counters totals;
};

/* Requests are counted by the list rather than one by one, so that threads which post at the same time seldom meet here. */
#define COUNT_ADD(field, amount) __atomic_fetch_add(&engine->counters->totals.field, (uint64_t)(amount), __ATOMIC_RELAXED)
#define COUNT(field) COUNT_ADD(field, 1)
#define COUNT_DOWN(field) COUNT_ADD(field, -1)
#define COUNTED(field) __atomic_load_n(&engine->counters->totals.field, __ATOMIC_RELAXED)

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of the process (see struct softverbs_counters). Each thread counts for itself, so that threads which post at
 * the same time do not wait for each other's cache lines; who wants the totals adds them up.
 */
#ifndef SOFTDEV_COUNTERS_H
#define SOFTDEV_COUNTERS_H

#include "softverbs.h"

/* Of the calling thread; NULL until it counts for the first time. */
extern _Thread_local struct softverbs_counters *counters_of_thread;
struct softverbs_counters *counters_begin(void);

static inline struct softverbs_counters *counters_mine(void)
{
	return counters_of_thread ? counters_of_thread : counters_begin();
}

/* Only its thread writes it; others read. */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

/* What one thread counts up another may count down: the sum is right, modulo 2^64 as all of them. */
#define COUNT_ADD(field, amount) counter_add(&counters_mine()->field, (uint64_t)(amount))
#define COUNT(field) COUNT_ADD(field, 1)
#define COUNT_DOWN(field) COUNT_ADD(field, -1)

/* Of all threads. */
uint64_t counters_total(size_t offset);
#define COUNTED(field) counters_total(offsetof(struct softverbs_counters, field))

#endif

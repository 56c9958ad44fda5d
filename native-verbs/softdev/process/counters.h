/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of the process (see struct softverbs_counters). Each thread counts for itself, so that threads which post at
 * the same time do not wait for each other's cache lines; counters_total() adds them up.
 */
#ifndef SOFTDEV_COUNTERS_H
#define SOFTDEV_COUNTERS_H

#include "softverbs.h"

/* The counters of the calling thread; NULL until it counts for the first time. */
extern _Thread_local struct softverbs_counters *counters_of_thread;
struct softverbs_counters *counters_begin(void);

static inline struct softverbs_counters *counters_mine(void)
{
	return counters_of_thread ? counters_of_thread : counters_begin();
}

/* Adds to a counter, which only its own thread writes; others read it. */
static inline void counter_add(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount, __ATOMIC_RELAXED);
}

/* Counts in the calling thread. One thread may count down what another has counted up: the sum is right, modulo 2^64. */
#define COUNT_ADD(field, amount) counter_add(&counters_mine()->field, (uint64_t)(amount))
#define COUNT(field) COUNT_ADD(field, 1)
#define COUNT_DOWN(field) COUNT_ADD(field, -1)

/* The totals of all threads. */
uint64_t counters_total(size_t offset);
#define COUNTED(field) counters_total(offsetof(struct softverbs_counters, field))

#endif

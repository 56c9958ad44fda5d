/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of the process (see struct softverbs_counters); relaxed atomics, written out at exit on request. */
#ifndef SOFTDEV_COUNTERS_H
#define SOFTDEV_COUNTERS_H

#include "softverbs.h"

#include <stdatomic.h>

extern struct softverbs_counters counters;

#define COUNT_ADD(field, amount) \
	__atomic_fetch_add(&counters.field, (uint64_t)(amount), __ATOMIC_RELAXED)
#define COUNTED(field) __atomic_load_n(&counters.field, __ATOMIC_RELAXED)
#define COUNT(field) COUNT_ADD(field, 1)
#define COUNT_DOWN(field) __atomic_fetch_sub(&counters.field, 1, __ATOMIC_RELAXED)

#endif

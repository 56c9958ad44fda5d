/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults asked for by SOFTVERBS_FAULT="point:key=value,...[;point:...]":
 *   reg_mr     errno=E               post_send  errno=E
 *   read       status=N (an IBV_WC_ number) | flip=1 (one wrong bit) | killpeer=1 (SIGKILL to the peer)
 * each with nth=N (the N-th event of this process, from 1), count=M (that many from there on, default 1) and
 * once=FILE (only if this call creates FILE: once over all processes).
 */
#ifndef SOFTDEV_FAULT_H
#define SOFTDEV_FAULT_H

#include <stdbool.h>
#include <stddef.h>

enum fault_point { FAULT_REG_MR, FAULT_POST_SEND, FAULT_READ, FAULT_POINTS };

struct fault {
	int error;  /* errno */
	int status; /* IBV_WC_*, -1 = not set */
	bool flip, kill_peer;
};

extern bool fault_any;

/* Counts an event; the fault to apply, or NULL. */
const struct fault *fault_hit(enum fault_point point);

static inline const struct fault *fault_check(enum fault_point point)
{
	return __builtin_expect(fault_any, false) ? fault_hit(point) : NULL;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on request: SOFTVERBS_FAULT and the control socket set rules, the device asks at its fault points.
 * docs/fault-injection.md has the language; the points are one table in fault.c, the keys one in fault_parse.c.
 * Without a rule a point costs one predictable branch.
 */
#ifndef SOFTDEV_FAULT_H
#define SOFTDEV_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_point {
	/* calls; `errno` is their error, `delay` the time they take longer */
	FAULT_OPEN_DEVICE,
	FAULT_ALLOC_PD,
	FAULT_REG_MR,
	FAULT_DEREG_MR,
	FAULT_CREATE_COMP_CHANNEL,
	FAULT_CREATE_CQ,
	FAULT_CREATE_SRQ,
	FAULT_CREATE_AH,
	FAULT_ALLOC_MW,
	FAULT_CREATE_QP,
	FAULT_MODIFY_QP,
	FAULT_DESTROY_QP,
	FAULT_CREATE_EVENT_CHANNEL,
	FAULT_CREATE_ID,
	FAULT_BIND_ADDR,
	FAULT_LISTEN,
	FAULT_RESOLVE_ADDR,
	FAULT_RESOLVE_ROUTE,
	FAULT_CONNECT,
	FAULT_ACCEPT,
	FAULT_DISCONNECT,
	/* work requests and their completions */
	FAULT_POST_SEND,
	FAULT_POST_RECV,
	FAULT_POST_SRQ_RECV,
	FAULT_WR,
	FAULT_READ,
	FAULT_RECV,
	FAULT_COMPLETION,
	/* paths of a READ */
	FAULT_CMA,
	FAULT_FILE,
	FAULT_SHARE_FILE,
	/* the wire */
	FAULT_LINK,
	FAULT_FRAME,
	FAULT_DATAGRAM,
	FAULT_CM_FRAME,
	FAULT_CM_DATAGRAM,
	FAULT_CM_EVENT,
	FAULT_POINTS
};

/* The effects of a fault; the table of points says which of them a point can have. */
struct fault {
	int error;     /* errno=, 0 = not set */
	int status;    /* IBV_WC_*, 0 = not set */
	int event;     /* of rdma_cm, -1 = not set */
	int reason;    /* of a reject, -1 = not set */
	int raise;     /* ibv_event_type, -1 = not set */
	bool flip;     /* one bit of the byte at `offset` */
	uint64_t offset;
	int64_t truncate; /* so many bytes arrive, -1 = all */
	uint32_t delay_ms;
	uint64_t rate; /* bytes a second, 0 = not bounded */
	bool drop, duplicate, overrun, rnr, cut, silence, refuse, kill_peer, stop_peer;
};

/* The properties of an event, for the filters of the rules; zeros where one does not apply. */
struct fault_subject {
	int kind; /* opcode, state, type: as the point's table of names says */
	uint32_t qpn;
	uint64_t length;
	int result; /* IBV_WC_* of a completion */
};

extern bool fault_any; /* there are rules, or were: something may still be held back; read without a lock */

static inline bool fault_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&fault_any, __ATOMIC_RELAXED), false);
}

/* Counts an event and returns the fault to apply, or NULL. The fault stays readable for ever. Takes a leaf lock. */
const struct fault *fault_hit(enum fault_point point, const struct fault_subject *subject);

/* fault_check(FAULT_WR, .kind = opcode, ...): the arguments are evaluated only if there are rules. */
#define fault_check(point, ...)                                                                    \
	(fault_is_on() ? fault_hit(point, &(const struct fault_subject){__VA_ARGS__}) : NULL)

/* For a call, without a lock: waits if the fault is a delay; returns the errno to fail with, or 0. */
int fault_call_hit(enum fault_point point, const struct fault_subject *subject);
#define fault_call(point, ...)                                                                     \
	(fault_is_on() ? fault_call_hit(point, &(const struct fault_subject){__VA_ARGS__}) : 0)

/* Waits as long as the fault says. */
void fault_wait(const struct fault *fault);

#endif

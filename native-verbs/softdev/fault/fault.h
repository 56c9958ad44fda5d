/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults on request: SOFTVERBS_FAULT and the control socket set rules, and the device asks at its fault points.
 * docs/fault-injection.md describes the language, and FAULT_KEY_LIST (fault_rules.h) lists the keys.
 * Without a rule a point costs one predictable branch.
 */
#ifndef SOFTDEV_FAULT_H
#define SOFTDEV_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The fault points: the name in the enumeration, the name in the rules, the keys of fault_rules.h that a rule of the
 * point may have, and, with KEY_KIND, the name of that key and the names of its values.
 */
#define FAULT_POINT_LIST(POINT)                                                                                        \
	/* calls; `errno` is their error, `delay` the time they take longer */                                         \
	POINT(OPEN_DEVICE, "open_device", CALL)                                                                        \
	POINT(ALLOC_PD, "alloc_pd", CALL)                                                                              \
	POINT(REG_MR, "reg_mr", CALL | KEY_LENGTH)                                                                     \
	POINT(DEREG_MR, "dereg_mr", CALL | KEY_LENGTH)                                                                 \
	POINT(CREATE_COMP_CHANNEL, "create_comp_channel", CALL)                                                        \
	POINT(CREATE_CQ, "create_cq", CALL)                                                                            \
	POINT(RESIZE_CQ, "resize_cq", CALL)                                                                            \
	POINT(CREATE_SRQ, "create_srq", CALL)                                                                          \
	POINT(CREATE_AH, "create_ah", CALL)                                                                            \
	POINT(ALLOC_MW, "alloc_mw", CALL)                                                                              \
	POINT(CREATE_QP, "create_qp", CALL)                                                                            \
	POINT(MODIFY_QP, "modify_qp", CALL | KEY_KIND | KEY_QP, "state", qp_states)                                    \
	POINT(DESTROY_QP, "destroy_qp", CALL | KEY_QP)                                                                 \
	POINT(CREATE_EVENT_CHANNEL, "create_event_channel", CALL)                                                      \
	POINT(CREATE_ID, "create_id", CALL)                                                                            \
	POINT(BIND_ADDR, "bind_addr", CALL)                                                                            \
	POINT(LISTEN, "listen", CALL)                                                                                  \
	POINT(RESOLVE_ADDR, "resolve_addr", CALL)                                                                      \
	POINT(RESOLVE_ROUTE, "resolve_route", CALL)                                                                    \
	POINT(CONNECT, "connect", CALL)                                                                                \
	POINT(ACCEPT, "accept", CALL)                                                                                  \
	POINT(DISCONNECT, "disconnect", CALL)                                                                          \
	/* work requests and their completions */                                                                      \
	POINT(POST_SEND, "post_send", POST, "opcode", wr_opcodes)                                                      \
	POINT(POST_RECV, "post_recv", POST & ~(KEY_KIND | KEY_LENGTH))                                                 \
	POINT(POST_SRQ_RECV, "post_srq_recv", KEY_ERRNO)                                                               \
	POINT(WR, "wr", ACTION | KEY_KIND, "opcode", wr_opcodes)                                                       \
	POINT(READ, "read", ACTION | KEY_FLIP | KEY_OFFSET | KEY_TRUNCATE)                                             \
	POINT(RECV, "recv", KEY_STATUS | KEY_RNR | KEY_RAISE | KEY_QP | KEY_LENGTH)                                    \
	POINT(COMPLETION, "completion", KEY_DROP | KEY_DELAY | KEY_DUPLICATE | KEY_OVERRUN | KEY_RAISE |               \
	      KEY_KIND | KEY_QP | KEY_LENGTH | KEY_RESULT, "opcode", wc_opcodes)                                       \
	/* the ways of a READ */                                                                                       \
	POINT(CMA, "cma", KEY_ERRNO | KEY_DELAY | KEY_QP | KEY_LENGTH)                                                 \
	POINT(FILE, "file", KEY_ERRNO | KEY_DELAY | KEY_QP | KEY_LENGTH)                                               \
	POINT(SHARE_FILE, "share_file", KEY_ERRNO | KEY_QP)                                                            \
	/* the wire */                                                                                                 \
	POINT(LINK, "link", KEY_REFUSE | KEY_SILENCE | KEY_RATE | KEY_DELAY | KEY_KIND, "kind", fault_link_kinds)            \
	POINT(FRAME, "frame", FRAME | KEY_QP, "op", fault_frame_ops)                                                         \
	POINT(DATAGRAM, "datagram", KEY_DROP | KEY_DUPLICATE | KEY_FLIP | KEY_OFFSET | KEY_QP | KEY_LENGTH)            \
	POINT(CM_FRAME, "cm_frame", FRAME | KEY_REASON, "op", fault_cm_frame_ops)                                            \
	POINT(CM_DATAGRAM, "cm_datagram", KEY_DROP | KEY_KIND, "kind", fault_cm_datagram_kinds)                                 \
	POINT(CM_EVENT, "cm_event", KEY_DROP | KEY_DELAY | KEY_EVENT | KEY_ERRNO | KEY_REASON |                        \
	      KEY_KIND, "type", fault_cm_events)

enum fault_point {
#define FAULT_POINT_NAME(name, ...) FAULT_##name,
	FAULT_POINT_LIST(FAULT_POINT_NAME)
#undef FAULT_POINT_NAME
	FAULT_POINTS
};

/* The effects of a fault; the table of points says which of them a point can have. */
struct fault {
	int error;     /* errno=, 0 = not set */
	int status;    /* IBV_WC_*, 0 = not set */
	int event;     /* rdma_cm_event_type, -1 = not set */
	int reason;    /* reason of a reject, -1 = not set */
	int raise;     /* ibv_event_type, -1 = not set */
	bool flip;     /* flips one bit of the byte at `offset` */
	uint64_t offset;
	int64_t truncate; /* number of bytes that arrive, -1 = all */
	uint32_t delay_ms;
	uint64_t rate; /* bytes per second, 0 = no limit */
	bool drop, duplicate, overrun, rnr, cut, silence, refuse, kill_peer, stop_peer;
};

/* The properties of an event, for the filters of the rules; zeros where one does not apply. */
struct fault_subject {
	int kind; /* opcode, state, type: as the point's table of names says */
	uint32_t qpn;
	uint64_t length;
	int result;  /* IBV_WC_* of a completion */
	bool remote; /* the peer is not this process itself */
};

extern bool fault_any; /* true once there was a rule, because something may still be held back; read without a lock */

static inline bool fault_is_on(void)
{
	return __builtin_expect(__atomic_load_n(&fault_any, __ATOMIC_RELAXED), false);
}

/* Counts an event and returns the fault to apply, or NULL. The fault is never freed. Takes a leaf lock. */
const struct fault *fault_hit(enum fault_point point, const struct fault_subject *subject);

/* fault_check(FAULT_WR, .kind = opcode, ...): the arguments are evaluated only if there are rules. */
#define fault_check(point, ...)                                                                    \
	(fault_is_on() ? fault_hit(point, &(const struct fault_subject){__VA_ARGS__}) : NULL)

/* For calls; no lock may be held. Waits if the fault is a delay; returns the errno to fail with, or 0. */
int fault_call_hit(enum fault_point point, const struct fault_subject *subject);
#define fault_call(point, ...)                                                                     \
	(fault_is_on() ? fault_call_hit(point, &(const struct fault_subject){__VA_ARGS__}) : 0)

/* Returns true if SOFTVERBS_FAULT could not be read, of which a message has told when the library was loaded. */
bool fault_setting_is_misread(void);

/* Waits as long as the fault says. */
void fault_wait(const struct fault *fault);

#endif

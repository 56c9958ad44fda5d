/* SPDX-License-Identifier: Apache-2.0 */
/* The declarations that fault.c (the rules), fault_parse.c (their language) and fault_control.c (the socket) share. */
#ifndef SOFTDEV_FAULT_RULES_H
#define SOFTDEV_FAULT_RULES_H

#include "fault/fault.h"

enum { FAULT_MAX_TEXT = 4096, FAULT_MAX_MESSAGE = 1024, FAULT_MAX_ASYNC = 18 };

struct fault_name {
	const char *name;
	int value;
};
#define FAULT_NAME(prefix, name) {#name, prefix##name}

/*
 * The keys of a rule, effects first: the name in the enumeration, the name in the rules, the shape of the value
 * (fault_parse.c), its bounds, the names of its values, and its place in struct fault_rule.
 */
#define FAULT_KEY_LIST(KEY)                                                                                            \
	KEY(ERRNO, "errno", NAME, 1, 4095, errnos, fault.error)                                                        \
	KEY(STATUS, "status", NAME, 1, MAX_STATUS, results + 1, fault.status)                                          \
	KEY(EVENT, "event", NAME, 0, MAX_CM_EVENT, fault_cm_events, fault.event)                                       \
	KEY(REASON, "reason", NUMBER, 0, 65535, NULL, fault.reason)                                                    \
	KEY(RAISE, "raise", NAME, 0, FAULT_MAX_ASYNC, fault_async_names, fault.raise)                                  \
	KEY(FLIP, "flip", FLAG, 1, 1, NULL, fault.flip)                                                                \
	KEY(TRUNCATE, "truncate", NUMBER, 0, UINT32_MAX, NULL, fault.truncate)                                         \
	KEY(DELAY, "delay", NUMBER, 1, 3600000, NULL, fault.delay_ms)                                                  \
	KEY(RATE, "rate", NUMBER, 1, UINT64_MAX, NULL, fault.rate)                                                     \
	KEY(DROP, "drop", FLAG, 1, 1, NULL, fault.drop)                                                                \
	KEY(DUPLICATE, "duplicate", FLAG, 1, 1, NULL, fault.duplicate)                                                 \
	KEY(OVERRUN, "overrun", FLAG, 1, 1, NULL, fault.overrun)                                                       \
	KEY(RNR, "rnr", FLAG, 1, 1, NULL, fault.rnr)                                                                   \
	KEY(CUT, "cut", FLAG, 1, 1, NULL, fault.cut)                                                                   \
	KEY(SILENCE, "silence", FLAG, 1, 1, NULL, fault.silence)                                                       \
	KEY(REFUSE, "refuse", FLAG, 1, 1, NULL, fault.refuse)                                                          \
	KEY(KILLPEER, "killpeer", FLAG, 1, 1, NULL, fault.kill_peer)                                                   \
	KEY(STOPPEER, "stoppeer", FLAG, 1, 1, NULL, fault.stop_peer)                                                   \
	/* goes with flip */                                                                                           \
	KEY(OFFSET, "offset", NUMBER, 0, UINT32_MAX, NULL, fault.offset)                                               \
	/* filters */                                                                                                  \
	KEY(QP, "qp", NUMBER, 1, 0xffffff, NULL, qpn)                                                                  \
	KEY(LENGTH, "min_length", NUMBER, 1, UINT64_MAX, NULL, min_length)                                             \
	KEY(RESULT, "result", NAME, 0, MAX_STATUS, results, result)                                                    \
	KEY(OTHERS, "remote", FLAG, 1, 1, NULL, remote)                                                                \
	/* when; every point takes these */                                                                            \
	KEY(NTH, "nth", NUMBER, 1, UINT64_MAX, NULL, nth)                                                              \
	KEY(COUNT, "count", NUMBER_OR_ALL, 1, UINT64_MAX, NULL, count)                                                 \
	KEY(EVERY, "every", NUMBER, 1, UINT64_MAX, NULL, every)                                                        \
	KEY(PROBABILITY, "probability", NUMBER, 1, 1000, NULL, probability)                                            \
	KEY(ONCE, "once", TEXT, 0, 0, NULL, once)

/* As bits: each point says which keys it takes. */
enum fault_key {
#define FAULT_KEY_BIT(name, ...) KEY_BIT_##name,
#define FAULT_KEY_MASK(name, ...) KEY_##name = 1 << KEY_BIT_##name,
	FAULT_KEY_LIST(FAULT_KEY_BIT) KEY_BIT_KIND,
	FAULT_KEY_LIST(FAULT_KEY_MASK) KEY_KIND = 1 << KEY_BIT_KIND, /* its name depends on the point */
#undef FAULT_KEY_BIT
#undef FAULT_KEY_MASK
	KEY_EFFECTS = KEY_OFFSET - 1,
	KEY_WHEN = KEY_NTH | KEY_COUNT | KEY_EVERY | KEY_PROBABILITY | KEY_ONCE,
};

struct fault_point_row {
	const char *name;
	unsigned int keys;
	struct {
		const char *key; /* "opcode", "state", ... */
		const struct fault_name *names;
	} kind;
};

extern const struct fault_point_row fault_points[FAULT_POINTS];

struct fault_rule {
	struct fault_rule *next;
	enum fault_point point;
	struct fault fault;
	unsigned int keys; /* the keys that were given */
	int kind, result;
	uint32_t qpn;
	bool remote;
	uint64_t min_length;
	uint64_t nth, count, every; /* count: UINT64_MAX = no limit */
	unsigned int probability;   /* per mille */
	uint64_t seed;
	char *once;
	char *text;
	unsigned int number;
	uint64_t seen, hits;
};

/* fault_parse.c. Returns the rules of a text, in order, or NULL and a message of one line. */
struct fault_rule *fault_parse(const char *text, char message[FAULT_MAX_MESSAGE]);
/* Parses a name of the table or a number; returns false and a message if it is neither. */
bool fault_parse_name(const char *what, const char *text, const struct fault_name *names, uint64_t min, uint64_t max,
		      uint64_t *value, char message[FAULT_MAX_MESSAGE]);
/*
 * Parses a number in decimal, or in hexadecimal after 0x, and nothing else, because a number that is not understood
 * would never strike.
 */
bool fault_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number);
extern const struct fault_name fault_async_names[], fault_cm_events[];
/* The names of what higher folders define; parts.c has them. In the second, REQUEST is the first. */
extern const struct fault_name fault_frame_ops[], fault_cm_frame_ops[], fault_cm_datagram_kinds[], fault_link_kinds[];
/* Raises an ibv_event_type on a queue pair; parts.c names it. Any thread, any lock held. */
extern void (*const fault_raise)(int event, uint32_t qpn);

/* fault.c. From now on the device asks at its points. */
void fault_enable(void);
/* Takes over the rules; returns the number of the first. */
unsigned int fault_add_rules(struct fault_rule *rules);
/* Removes the rule of that number (0 = all); returns how many it removed. */
unsigned int fault_clear_rules(unsigned int number);
void fault_visit_rules(void (*visit)(const struct fault_rule *rule, void *argument), void *argument);

/*
 * Reads SOFTVERBS_FAULT when the library is loaded. With a mistake in it the device does not open, because a test that asks
 * for a fault must not pass without it.
 */
void fault_read_setting(void);

#endif

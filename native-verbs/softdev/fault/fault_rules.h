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

/* Keys of a rule, as bits: each point says which it takes. */
enum fault_key {
	KEY_ERRNO = 1 << 0,
	KEY_STATUS = 1 << 1,
	KEY_EVENT = 1 << 2,
	KEY_REASON = 1 << 3,
	KEY_FLIP = 1 << 4,
	KEY_TRUNCATE = 1 << 5,
	KEY_DELAY = 1 << 6,
	KEY_RATE = 1 << 7,
	KEY_DROP = 1 << 8,
	KEY_DUPLICATE = 1 << 9,
	KEY_OVERRUN = 1 << 10,
	KEY_RNR = 1 << 11,
	KEY_CUT = 1 << 12,
	KEY_SILENCE = 1 << 13,
	KEY_REFUSE = 1 << 14,
	KEY_KILLPEER = 1 << 15,
	KEY_STOPPEER = 1 << 16,
	KEY_RAISE = 1 << 17,
	KEY_EFFECTS = (1 << 18) - 1,
	/* modifies an effect */
	KEY_OFFSET = 1 << 18,
	/* filters */
	KEY_KIND = 1 << 19, /* under the point's own name for it */
	KEY_QP = 1 << 20,
	KEY_LENGTH = 1 << 21,
	KEY_RESULT = 1 << 22,
	/* when; every point takes these */
	KEY_NTH = 1 << 23,
	KEY_COUNT = 1 << 24,
	KEY_EVERY = 1 << 25,
	KEY_PROBABILITY = 1 << 26,
	KEY_ONCE = 1 << 27,
	KEY_WHEN = KEY_NTH | KEY_COUNT | KEY_EVERY | KEY_PROBABILITY | KEY_ONCE,
};

struct fault_point_row {
	const char *name;
	unsigned int keys;
	const char *kind_key; /* "opcode", "state", ... */
	const struct fault_name *kinds;
};

extern const struct fault_point_row fault_points[FAULT_POINTS];

struct fault_rule {
	struct fault_rule *next;
	enum fault_point point;
	struct fault fault;
	unsigned int keys; /* that were given */
	int kind, result;
	uint32_t qpn;
	uint64_t min_length;
	uint64_t nth, count, every; /* count: UINT64_MAX = without end */
	unsigned int probability;   /* per mille */
	uint64_t seed;
	char *once;
	char *text;
	unsigned int number;
	uint64_t seen, hits;
};

/* fault_parse.c: the rules of a text, in order, or NULL and a message of one line. Frees nothing of the caller's. */
struct fault_rule *fault_parse(const char *text, char message[FAULT_MAX_MESSAGE]);
void fault_free_rules(struct fault_rule *rules);
/* A value of one of the tables, or a number up to `max`; false and a message. */
bool fault_parse_name(const char *what, const char *text, const struct fault_name *names, int max, int *value,
		      char message[FAULT_MAX_MESSAGE]);
extern const struct fault_name fault_async_names[], fault_cm_events[];

/* fault.c: the device asks at its points from now on. */
void fault_enable(void);
/* Adds the rules, which are the list's from now on; the number of the first. */
unsigned int fault_add_rules(struct fault_rule *rules);
/* Takes rule `number` (0 = all) off; how many. */
unsigned int fault_clear_rules(unsigned int number);
void fault_visit_rules(void (*visit)(const struct fault_rule *rule, void *argument), void *argument);

/* Reads SOFTVERBS_FAULT, when the library is loaded: a test that asks for a fault must not pass without it. */
void fault_read_setting(void);

#endif

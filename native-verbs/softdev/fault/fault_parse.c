/* SPDX-License-Identifier: Apache-2.0 */
/* The language of fault rules: "point:key=value,...[;point:...][;seed=N]". */
#include "fault/fault_rules.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/cm_wire.h"

enum { MAX_STATUS = 23, MAX_CM_EVENT = RDMA_CM_EVENT_TIMEWAIT_EXIT };

static const struct fault_name errnos[] = {
	{"EPERM", EPERM},	  {"ENOENT", ENOENT},	    {"EINTR", EINTR},
	{"EIO", EIO},		  {"EAGAIN", EAGAIN},	    {"ENOMEM", ENOMEM},
	{"EACCES", EACCES},	  {"EFAULT", EFAULT},	    {"EBUSY", EBUSY},
	{"ENODEV", ENODEV},	  {"EINVAL", EINVAL},	    {"EMFILE", EMFILE},
	{"ENOSPC", ENOSPC},	  {"ENOSYS", ENOSYS},	    {"EPROTO", EPROTO},
	{"ESRCH", ESRCH},	  {"EOPNOTSUPP", EOPNOTSUPP}, {"EADDRINUSE", EADDRINUSE},
	{"ENETUNREACH", ENETUNREACH}, {"EHOSTUNREACH", EHOSTUNREACH}, {"ECONNREFUSED", ECONNREFUSED},
	{"ECONNRESET", ECONNRESET}, {"ETIMEDOUT", ETIMEDOUT}, {"EBADF", EBADF},
	{"ESTALE", ESTALE},	  {NULL, 0},
};

static const struct fault_name statuses[] = {
	{"LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR},
	{"LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR},
	{"LOC_EEC_OP_ERR", IBV_WC_LOC_EEC_OP_ERR},
	{"LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR},
	{"WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR},
	{"MW_BIND_ERR", IBV_WC_MW_BIND_ERR},
	{"BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR},
	{"LOC_ACCESS_ERR", IBV_WC_LOC_ACCESS_ERR},
	{"REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR},
	{"REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR},
	{"REM_OP_ERR", IBV_WC_REM_OP_ERR},
	{"RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR},
	{"RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR},
	{"LOC_RDD_VIOL_ERR", IBV_WC_LOC_RDD_VIOL_ERR},
	{"REM_INV_RD_REQ_ERR", IBV_WC_REM_INV_RD_REQ_ERR},
	{"REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR},
	{"INV_EECN_ERR", IBV_WC_INV_EECN_ERR},
	{"INV_EEC_STATE_ERR", IBV_WC_INV_EEC_STATE_ERR},
	{"FATAL_ERR", IBV_WC_FATAL_ERR},
	{"RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR},
	{"GENERAL_ERR", IBV_WC_GENERAL_ERR},
	{NULL, 0},
};

/* What a completion may show beside an error. */
static const struct fault_name success[] = {{"SUCCESS", IBV_WC_SUCCESS}, {NULL, 0}};

const struct fault_name fault_async_names[] = {
	{"CQ_ERR", IBV_EVENT_CQ_ERR},
	{"QP_FATAL", IBV_EVENT_QP_FATAL},
	{"QP_REQ_ERR", IBV_EVENT_QP_REQ_ERR},
	{"QP_ACCESS_ERR", IBV_EVENT_QP_ACCESS_ERR},
	{"COMM_EST", IBV_EVENT_COMM_EST},
	{"SQ_DRAINED", IBV_EVENT_SQ_DRAINED},
	{"PATH_MIG", IBV_EVENT_PATH_MIG},
	{"PATH_MIG_ERR", IBV_EVENT_PATH_MIG_ERR},
	{"DEVICE_FATAL", IBV_EVENT_DEVICE_FATAL},
	{"PORT_ACTIVE", IBV_EVENT_PORT_ACTIVE},
	{"PORT_ERR", IBV_EVENT_PORT_ERR},
	{"LID_CHANGE", IBV_EVENT_LID_CHANGE},
	{"PKEY_CHANGE", IBV_EVENT_PKEY_CHANGE},
	{"SM_CHANGE", IBV_EVENT_SM_CHANGE},
	{"SRQ_ERR", IBV_EVENT_SRQ_ERR},
	{"SRQ_LIMIT_REACHED", IBV_EVENT_SRQ_LIMIT_REACHED},
	{"QP_LAST_WQE_REACHED", IBV_EVENT_QP_LAST_WQE_REACHED},
	{"CLIENT_REREGISTER", IBV_EVENT_CLIENT_REREGISTER},
	{"GID_CHANGE", IBV_EVENT_GID_CHANGE},
	{NULL, 0},
};

const struct fault_name fault_cm_events[] = {
	{"ADDR_RESOLVED", RDMA_CM_EVENT_ADDR_RESOLVED},
	{"ADDR_ERROR", RDMA_CM_EVENT_ADDR_ERROR},
	{"ROUTE_RESOLVED", RDMA_CM_EVENT_ROUTE_RESOLVED},
	{"ROUTE_ERROR", RDMA_CM_EVENT_ROUTE_ERROR},
	{"CONNECT_REQUEST", RDMA_CM_EVENT_CONNECT_REQUEST},
	{"CONNECT_RESPONSE", RDMA_CM_EVENT_CONNECT_RESPONSE},
	{"CONNECT_ERROR", RDMA_CM_EVENT_CONNECT_ERROR},
	{"UNREACHABLE", RDMA_CM_EVENT_UNREACHABLE},
	{"REJECTED", RDMA_CM_EVENT_REJECTED},
	{"ESTABLISHED", RDMA_CM_EVENT_ESTABLISHED},
	{"DISCONNECTED", RDMA_CM_EVENT_DISCONNECTED},
	{"DEVICE_REMOVAL", RDMA_CM_EVENT_DEVICE_REMOVAL},
	{"MULTICAST_JOIN", RDMA_CM_EVENT_MULTICAST_JOIN},
	{"MULTICAST_ERROR", RDMA_CM_EVENT_MULTICAST_ERROR},
	{"ADDR_CHANGE", RDMA_CM_EVENT_ADDR_CHANGE},
	{"TIMEWAIT_EXIT", RDMA_CM_EVENT_TIMEWAIT_EXIT},
	{NULL, 0},
};

/* How the value of a key looks and where it goes. */
enum shape { FLAG, NUMBER, NUMBER_OR_ALL, NAME, TEXT };

struct key_row {
	const char *name;
	enum fault_key key;
	enum shape shape;
	uint64_t min, max;
	const struct fault_name *names;
	size_t place, size; /* in struct fault_rule */
};

#define PLACE(member) offsetof(struct fault_rule, member), sizeof(((struct fault_rule *)NULL)->member)

static const struct key_row keys[] = {
	{"errno", KEY_ERRNO, NAME, 1, 4095, errnos, PLACE(fault.error)},
	{"status", KEY_STATUS, NAME, 1, MAX_STATUS, statuses, PLACE(fault.status)},
	{"event", KEY_EVENT, NAME, 0, MAX_CM_EVENT, fault_cm_events, PLACE(fault.event)},
	{"reason", KEY_REASON, NUMBER, 0, 65535, NULL, PLACE(fault.reason)},
	{"raise", KEY_RAISE, NAME, 0, FAULT_MAX_ASYNC, fault_async_names, PLACE(fault.raise)},
	{"flip", KEY_FLIP, FLAG, 1, 1, NULL, PLACE(fault.flip)},
	{"offset", KEY_OFFSET, NUMBER, 0, UINT32_MAX, NULL, PLACE(fault.offset)},
	{"truncate", KEY_TRUNCATE, NUMBER, 0, UINT32_MAX, NULL, PLACE(fault.truncate)},
	{"delay", KEY_DELAY, NUMBER, 1, 3600000, NULL, PLACE(fault.delay_ms)},
	{"rate", KEY_RATE, NUMBER, 1, UINT64_MAX, NULL, PLACE(fault.rate)},
	{"drop", KEY_DROP, FLAG, 1, 1, NULL, PLACE(fault.drop)},
	{"duplicate", KEY_DUPLICATE, FLAG, 1, 1, NULL, PLACE(fault.duplicate)},
	{"overrun", KEY_OVERRUN, FLAG, 1, 1, NULL, PLACE(fault.overrun)},
	{"rnr", KEY_RNR, FLAG, 1, 1, NULL, PLACE(fault.rnr)},
	{"cut", KEY_CUT, FLAG, 1, 1, NULL, PLACE(fault.cut)},
	{"silence", KEY_SILENCE, FLAG, 1, 1, NULL, PLACE(fault.silence)},
	{"refuse", KEY_REFUSE, FLAG, 1, 1, NULL, PLACE(fault.refuse)},
	{"killpeer", KEY_KILLPEER, FLAG, 1, 1, NULL, PLACE(fault.kill_peer)},
	{"stoppeer", KEY_STOPPEER, FLAG, 1, 1, NULL, PLACE(fault.stop_peer)},
	{"qp", KEY_QP, NUMBER, 1, 0xffffff, NULL, PLACE(qpn)},
	{"min_length", KEY_LENGTH, NUMBER, 1, UINT64_MAX, NULL, PLACE(min_length)},
	{"result", KEY_RESULT, NAME, 0, MAX_STATUS, statuses, PLACE(result)},
	{"nth", KEY_NTH, NUMBER, 1, UINT64_MAX, NULL, PLACE(nth)},
	{"count", KEY_COUNT, NUMBER_OR_ALL, 1, UINT64_MAX, NULL, PLACE(count)},
	{"every", KEY_EVERY, NUMBER, 1, UINT64_MAX, NULL, PLACE(every)},
	{"probability", KEY_PROBABILITY, NUMBER, 1, 1000, NULL, PLACE(probability)},
	{"once", KEY_ONCE, TEXT, 0, 0, NULL, PLACE(once)},
};

enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

__attribute__((format(printf, 2, 3))) static bool fail(char message[FAULT_MAX_MESSAGE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(message, FAULT_MAX_MESSAGE, format, args);
	va_end(args);
	return false;
}

static void append(char text[FAULT_MAX_MESSAGE], const char *word)
{
	size_t used = strlen(text);

	snprintf(text + used, FAULT_MAX_MESSAGE - used, "%s%s", used ? ", " : "", word);
}

/* Decimal, or hexadecimal after 0x, and nothing else: a number that is not understood would never strike. */
static bool parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, hex ? 16 : 10);
	return !errno && !*end && *number >= min && *number <= max;
}

static bool parse_named(const char *text, const struct fault_name *names, uint64_t min, uint64_t max,
			uint64_t *value)
{
	for (; names->name; names++)
		if (!strcasecmp(text, names->name)) {
			*value = names->value;
			return true;
		}
	return parse_number(text, min, max, value);
}

static bool bad_name(const char *what, const char *text, const struct fault_name *names, uint64_t min, uint64_t max,
		     char message[FAULT_MAX_MESSAGE])
{
	char known[FAULT_MAX_MESSAGE] = "";

	for (; names->name; names++)
		append(known, names->name);
	return fail(message, "%.40s=%.60s: use %llu to %llu, or one of %.800s", what, text, (unsigned long long)min,
		    (unsigned long long)max, known);
}

bool fault_parse_name(const char *what, const char *text, const struct fault_name *names, int max, int *value,
		      char message[FAULT_MAX_MESSAGE])
{
	uint64_t number;

	if (!parse_named(text, names, 0, max, &number))
		return bad_name(what, text, names, 0, max, message);
	*value = number;
	return true;
}

static const struct key_row *find_key(const struct fault_point_row *point, const char *name)
{
	for (int i = 0; i < KEYS; i++)
		if (!strcmp(name, keys[i].name))
			return (point->keys | KEY_WHEN) & keys[i].key ? &keys[i] : NULL;
	return NULL;
}

static bool unknown_key(const struct fault_point_row *point, const char *name, char message[FAULT_MAX_MESSAGE])
{
	char known[FAULT_MAX_MESSAGE] = "";

	for (int i = 0; i < KEYS; i++)
		if ((point->keys | KEY_WHEN) & keys[i].key)
			append(known, keys[i].name);
	if (point->kind_key)
		append(known, point->kind_key);
	return fail(message, "%s has no key %.60s: use %.800s", point->name, name, known);
}

static void store(struct fault_rule *rule, const struct key_row *row, uint64_t number)
{
	void *place = (char *)rule + row->place;

	if (row->size == 1)
		*(bool *)place = number;
	else if (row->size == 4)
		*(uint32_t *)place = number;
	else
		*(uint64_t *)place = number;
}

static bool parse_value(struct fault_rule *rule, const struct key_row *row, const char *value,
			char message[FAULT_MAX_MESSAGE])
{
	uint64_t number = 1;

	switch (row->shape) {
	case FLAG:
		if (value && strcmp(value, "1"))
			return fail(message, "%s=%.60s: it takes no value but 1", row->name, value);
		break;
	case TEXT:
		if (!value || !*value)
			return fail(message, "%s needs a file: %s=FILE", row->name, row->name);
		free(rule->once);
		rule->once = strdup(value);
		rule->keys |= row->key;
		return rule->once || fail(message, "no memory");
	case NUMBER_OR_ALL:
		if (value && !strcmp(value, "all")) {
			number = UINT64_MAX;
			break;
		}
		/* fall through */
	case NUMBER:
		if (!value || !parse_number(value, row->min, row->max, &number))
			return fail(message, "%s=%.60s: use a number from %llu to %llu%s", row->name,
				    value ? value : "", (unsigned long long)row->min, (unsigned long long)row->max,
				    row->shape == NUMBER_OR_ALL ? ", or all" : "");
		break;
	case NAME:
		if (row->key == KEY_RESULT && value && parse_named(value, success, 0, 0, &number))
			break;
		if (!value || !parse_named(value, row->names, row->min, row->max, &number))
			return bad_name(row->name, value ? value : "", row->names, row->min, row->max, message);
		break;
	}
	store(rule, row, number);
	rule->keys |= row->key;
	return true;
}

static bool parse_pair(struct fault_rule *rule, char *pair, char message[FAULT_MAX_MESSAGE])
{
	const struct fault_point_row *point = &fault_points[rule->point];
	char *value = strchr(pair, '=');
	const struct key_row *row;

	if (value)
		*value++ = 0;
	if (point->kind_key && !strcmp(pair, point->kind_key)) {
		rule->keys |= KEY_KIND;
		return fault_parse_name(pair, value ? value : "", point->kinds, 255, &rule->kind, message);
	}
	row = find_key(point, pair);
	return row ? parse_value(rule, row, value, message) : unknown_key(point, pair, message);
}

static bool find_point(const char *name, struct fault_rule *rule, char message[FAULT_MAX_MESSAGE])
{
	char known[FAULT_MAX_MESSAGE] = "";

	for (int i = 0; i < FAULT_POINTS; i++) {
		if (!strcmp(name, fault_points[i].name)) {
			rule->point = i;
			return true;
		}
		append(known, fault_points[i].name);
	}
	return fail(message, "there is no point %.60s: use %.900s", name, known);
}

static bool check_rule(struct fault_rule *rule, char message[FAULT_MAX_MESSAGE])
{
	const struct fault_point_row *point = &fault_points[rule->point];
	char known[FAULT_MAX_MESSAGE] = "";

	if ((rule->keys & KEY_OFFSET) && !(rule->keys & KEY_FLIP))
		return fail(message, "%s: offset goes with flip", point->name);
	if (rule->point == FAULT_CM_EVENT && (rule->keys & (KEY_ERRNO | KEY_REASON)) && !(rule->keys & KEY_EVENT))
		return fail(message, "%s: errno and reason are the status of event=TYPE", point->name);
	if (rule->point == FAULT_CM_FRAME && (rule->keys & KEY_REASON) && rule->kind != CM_FRAME_REQUEST)
		return fail(message, "%s: reason goes with op=REQUEST, which is rejected", point->name);
	if (!(rule->keys & KEY_COUNT) && (rule->keys & (KEY_EVERY | KEY_PROBABILITY)))
		rule->count = UINT64_MAX;
	if (rule->keys & KEY_EFFECTS)
		return true;
	for (int i = 0; i < KEYS; i++)
		if (point->keys & KEY_EFFECTS & keys[i].key)
			append(known, keys[i].name);
	return fail(message, "%s is to do nothing: use %.800s", point->name, known);
}

/* The text is cut up. */
static bool parse_rule(char *text, struct fault_rule *rule, char message[FAULT_MAX_MESSAGE])
{
	char *pairs = strchr(text, ':');
	char *state = NULL;

	if (pairs)
		*pairs++ = 0;
	if (!find_point(text, rule, message))
		return false;
	for (char *pair = pairs ? strtok_r(pairs, ",", &state) : NULL; pair; pair = strtok_r(NULL, ",", &state))
		if (!parse_pair(rule, pair, message))
			return false;
	return check_rule(rule, message);
}

static void free_rule(struct fault_rule *rule)
{
	free(rule->once);
	free(rule->text);
	free(rule);
}

void fault_free_rules(struct fault_rule *rules)
{
	while (rules) {
		struct fault_rule *next = rules->next;

		free_rule(rules);
		rules = next;
	}
}

static struct fault_rule *new_rule(char *text, char message[FAULT_MAX_MESSAGE])
{
	struct fault_rule *rule = calloc(1, sizeof(*rule));

	if (!rule || !(rule->text = strdup(text))) {
		free(rule);
		fail(message, "no memory");
		return NULL;
	}
	rule->fault = (struct fault){.event = -1, .reason = -1, .raise = -1, .truncate = -1};
	rule->nth = rule->count = rule->every = 1;
	if (parse_rule(text, rule, message))
		return rule;
	free_rule(rule);
	return NULL;
}

/* Rules draw from streams of their own. */
static void spread_seed(struct fault_rule *rules, uint64_t seed)
{
	for (; rules; rules = rules->next) {
		seed = (seed ^ 0x5851f42d4c957f2dull) * 0x14057b7ef767814full + 1;
		rules->seed = seed;
	}
}

struct fault_rule *fault_parse(const char *text, char message[FAULT_MAX_MESSAGE])
{
	struct fault_rule *first = NULL, **last = &first;
	char *copy = NULL, *state = NULL;
	uint64_t seed = 1;

	if (strlen(text) > FAULT_MAX_TEXT) {
		fail(message, "it is longer than %d bytes", FAULT_MAX_TEXT);
		return NULL;
	}
	copy = strdup(text);
	for (char *item = copy ? strtok_r(copy, ";", &state) : NULL; item; item = strtok_r(NULL, ";", &state)) {
		if (!strncmp(item, "seed=", 5)) {
			if (parse_number(item + 5, 0, UINT64_MAX, &seed))
				continue;
			fail(message, "seed=%.60s: use a number", item + 5);
			goto failed;
		}
		*last = new_rule(item, message);
		if (!*last)
			goto failed;
		last = &(*last)->next;
	}
	free(copy);
	if (!first)
		fail(message, "it has no rule: use point:key=value,...");
	spread_seed(first, seed);
	return first;

failed:
	*last = NULL;
	fault_free_rules(first);
	free(copy);
	return NULL;
}

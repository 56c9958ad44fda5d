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

enum { MAX_STATUS = 23, MAX_CM_EVENT = RDMA_CM_EVENT_TIMEWAIT_EXIT };

#define ERRNO(name) {#name, name}
#define STATUS(name) FAULT_NAME(IBV_WC_, name)
#define ASYNC_EVENT(name) FAULT_NAME(IBV_EVENT_, name)
#define CM_EVENT(name) FAULT_NAME(RDMA_CM_EVENT_, name)

static const struct fault_name errnos[] = {
	ERRNO(EPERM), ERRNO(ENOENT), ERRNO(EINTR), ERRNO(EIO), ERRNO(EAGAIN), ERRNO(ENOMEM), ERRNO(EACCES),
	ERRNO(EFAULT), ERRNO(EBUSY), ERRNO(ENODEV), ERRNO(EINVAL), ERRNO(EMFILE), ERRNO(ENOSPC), ERRNO(ENOSYS),
	ERRNO(EPROTO), ERRNO(ESRCH), ERRNO(EOPNOTSUPP), ERRNO(EADDRINUSE), ERRNO(ENETUNREACH),
	ERRNO(EHOSTUNREACH), ERRNO(ECONNREFUSED), ERRNO(ECONNRESET), ERRNO(ETIMEDOUT), ERRNO(EBADF),
	ERRNO(ESTALE), {NULL, 0},
};

/* The first can be the result of a completion, but not the effect of a fault. */
static const struct fault_name results[] = {
	STATUS(SUCCESS), STATUS(LOC_LEN_ERR), STATUS(LOC_QP_OP_ERR), STATUS(LOC_EEC_OP_ERR),
	STATUS(LOC_PROT_ERR), STATUS(WR_FLUSH_ERR), STATUS(MW_BIND_ERR), STATUS(BAD_RESP_ERR),
	STATUS(LOC_ACCESS_ERR), STATUS(REM_INV_REQ_ERR), STATUS(REM_ACCESS_ERR), STATUS(REM_OP_ERR),
	STATUS(RETRY_EXC_ERR), STATUS(RNR_RETRY_EXC_ERR), STATUS(LOC_RDD_VIOL_ERR), STATUS(REM_INV_RD_REQ_ERR),
	STATUS(REM_ABORT_ERR), STATUS(INV_EECN_ERR), STATUS(INV_EEC_STATE_ERR), STATUS(FATAL_ERR),
	STATUS(RESP_TIMEOUT_ERR), STATUS(GENERAL_ERR), {NULL, 0},
};

const struct fault_name fault_async_names[] = {
	ASYNC_EVENT(CQ_ERR), ASYNC_EVENT(QP_FATAL), ASYNC_EVENT(QP_REQ_ERR), ASYNC_EVENT(QP_ACCESS_ERR),
	ASYNC_EVENT(COMM_EST), ASYNC_EVENT(SQ_DRAINED), ASYNC_EVENT(PATH_MIG), ASYNC_EVENT(PATH_MIG_ERR),
	ASYNC_EVENT(DEVICE_FATAL), ASYNC_EVENT(PORT_ACTIVE), ASYNC_EVENT(PORT_ERR), ASYNC_EVENT(LID_CHANGE),
	ASYNC_EVENT(PKEY_CHANGE), ASYNC_EVENT(SM_CHANGE), ASYNC_EVENT(SRQ_ERR), ASYNC_EVENT(SRQ_LIMIT_REACHED),
	ASYNC_EVENT(QP_LAST_WQE_REACHED), ASYNC_EVENT(CLIENT_REREGISTER), ASYNC_EVENT(GID_CHANGE), {NULL, 0},
};

const struct fault_name fault_cm_events[] = {
	CM_EVENT(ADDR_RESOLVED), CM_EVENT(ADDR_ERROR), CM_EVENT(ROUTE_RESOLVED), CM_EVENT(ROUTE_ERROR),
	CM_EVENT(CONNECT_REQUEST), CM_EVENT(CONNECT_RESPONSE), CM_EVENT(CONNECT_ERROR), CM_EVENT(UNREACHABLE),
	CM_EVENT(REJECTED), CM_EVENT(ESTABLISHED), CM_EVENT(DISCONNECTED), CM_EVENT(DEVICE_REMOVAL),
	CM_EVENT(MULTICAST_JOIN), CM_EVENT(MULTICAST_ERROR), CM_EVENT(ADDR_CHANGE), CM_EVENT(TIMEWAIT_EXIT), {NULL, 0},
};

/* The shape of the value of a key. */
enum shape { FLAG, NUMBER, NUMBER_OR_ALL, NAME, TEXT };

struct key_row {
	const char *name;
	enum fault_key key;
	enum shape shape;
	uint64_t min, max;
	const struct fault_name *names;
	size_t place, size; /* in struct fault_rule */
};

static const struct key_row keys[] = {
#define KEY_ROW(key, name, shape, min, max, names, member) \
	{name, KEY_##key, shape, min, max, names, offsetof(struct fault_rule, member), \
	 sizeof(((struct fault_rule *)NULL)->member)},
	FAULT_KEY_LIST(KEY_ROW)
#undef KEY_ROW
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

bool fault_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *number)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, hex ? 16 : 10);
	return !errno && !*end && *number >= min && *number <= max;
}

bool fault_parse_name(const char *what, const char *text, const struct fault_name *names, uint64_t min, uint64_t max,
		      uint64_t *value, char message[FAULT_MAX_MESSAGE])
{
	char known[FAULT_MAX_MESSAGE] = "";

	for (; names->name; names++) {
		if (!strcasecmp(text, names->name)) {
			*value = names->value;
			return true;
		}
		append(known, names->name);
	}
	return fault_parse_number(text, min, max, value) ||
	       fail(message, "%.40s=%.60s: use %llu to %llu, or one of %.800s", what, text, (unsigned long long)min,
		    (unsigned long long)max, known);
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
	if (point->kind.key)
		append(known, point->kind.key);
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
		if (!value || !fault_parse_number(value, row->min, row->max, &number))
			return fail(message, "%s=%.60s: use a number from %llu to %llu%s", row->name,
				    value ? value : "", (unsigned long long)row->min, (unsigned long long)row->max,
				    row->shape == NUMBER_OR_ALL ? ", or all" : "");
		break;
	case NAME:
		if (!fault_parse_name(row->name, value ? value : "", row->names, row->min, row->max, &number, message))
			return false;
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
	uint64_t kind;

	if (value)
		*value++ = 0;
	if (point->kind.key && !strcmp(pair, point->kind.key)) {
		if (!fault_parse_name(pair, value ? value : "", point->kind.names, 0, 255, &kind, message))
			return false;
		rule->keys |= KEY_KIND;
		rule->kind = kind;
		return true;
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
	if (rule->point == FAULT_CM_FRAME && (rule->keys & KEY_REASON) && rule->kind != fault_cm_frame_ops[0].value)
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

/* Cuts the text up. */
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

static void free_rules(struct fault_rule *rules)
{
	while (rules) {
		struct fault_rule *next = rules->next;

		free(rules->once);
		free(rules->text);
		free(rules);
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
	free_rules(rule);
	return NULL;
}

/* Gives each rule a stream of random numbers of its own. */
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
			if (fault_parse_number(item + 5, 0, UINT64_MAX, &seed))
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
	free_rules(first);
	free(copy);
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
/* The fault points, and the rules that are in force. */
#include "fault/fault.h"

#include "engine.h"
#include "fault/fault_rules.h"
#include "lock.h"
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool fault_any;

static const struct fault_name wr_opcodes[] = {
	{"WRITE", IBV_WR_RDMA_WRITE},
	{"WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"READ", IBV_WR_RDMA_READ},
	{"CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD},
	FAULT_NAME(IBV_WR_, SEND), FAULT_NAME(IBV_WR_, SEND_WITH_IMM), FAULT_NAME(IBV_WR_, SEND_WITH_INV),
	FAULT_NAME(IBV_WR_, LOCAL_INV), FAULT_NAME(IBV_WR_, BIND_MW), {NULL, 0},
};

static const struct fault_name wc_opcodes[] = {
	{"WRITE", IBV_WC_RDMA_WRITE},
	{"READ", IBV_WC_RDMA_READ},
	{"CMP_AND_SWP", IBV_WC_COMP_SWAP},
	{"FETCH_AND_ADD", IBV_WC_FETCH_ADD},
	{"RECV_WITH_IMM", IBV_WC_RECV_RDMA_WITH_IMM},
	FAULT_NAME(IBV_WC_, SEND), FAULT_NAME(IBV_WC_, BIND_MW), FAULT_NAME(IBV_WC_, LOCAL_INV), FAULT_NAME(IBV_WC_, RECV), {NULL, 0},
};

static const struct fault_name qp_states[] = {
	FAULT_NAME(IBV_QPS_, RESET), FAULT_NAME(IBV_QPS_, INIT), FAULT_NAME(IBV_QPS_, RTR), FAULT_NAME(IBV_QPS_, RTS),
	FAULT_NAME(IBV_QPS_, SQD), FAULT_NAME(IBV_QPS_, SQE), FAULT_NAME(IBV_QPS_, ERR), {NULL, 0},
};

enum {
	CALL = KEY_ERRNO | KEY_DELAY,
	POST = KEY_ERRNO | KEY_RAISE | KEY_KIND | KEY_QP | KEY_LENGTH,
	ACTION = KEY_STATUS | KEY_KILLPEER | KEY_STOPPEER | KEY_RAISE | KEY_QP | KEY_LENGTH |
		 KEY_OTHERS,
	FRAME = KEY_DROP | KEY_DELAY | KEY_FLIP | KEY_OFFSET | KEY_TRUNCATE | KEY_CUT | KEY_SILENCE |
		KEY_KIND | KEY_LENGTH,
};

const struct fault_point_row fault_points[FAULT_POINTS] = {
#define FAULT_POINT_ROW(point, text, allowed, ...) \
	[FAULT_##point] = {.name = text, .keys = allowed, .kind = {__VA_ARGS__}},
	FAULT_POINT_LIST(FAULT_POINT_ROW)
#undef FAULT_POINT_ROW
};

struct fault_state {
	pthread_mutex_t lock; /* a leaf; guards the rules */
	struct fault_rule *rules;
	struct fault_rule *retired; /* kept, because work requests may still point to their faults */
	unsigned int last_number;
	bool misread; /* SOFTVERBS_FAULT is not understood */
};

ENGINE_PART(fault, NULL);

void fault_enable(void)
{
	__atomic_store_n(&fault_any, true, __ATOMIC_RELAXED);
}

unsigned int fault_add_rules(struct fault_rule *list)
{
	struct fault_rule **place = &engine->fault->rules;

	HOLD_LOCK(&engine->fault->lock);
	unsigned int first = engine->fault->last_number + 1;

	while (*place)
		place = &(*place)->next;
	*place = list;
	for (; list; list = list->next)
		list->number = ++engine->fault->last_number;
	fault_enable();
	return first;
}

unsigned int fault_clear_rules(unsigned int number)
{
	struct fault_rule **place = &engine->fault->rules;
	unsigned int cleared = 0;

	HOLD_LOCK(&engine->fault->lock);
	while (*place) {
		struct fault_rule *rule = *place;

		if (number && rule->number != number) {
			place = &rule->next;
			continue;
		}
		*place = rule->next;
		rule->next = engine->fault->retired;
		engine->fault->retired = rule;
		cleared++;
	}
	return cleared;
}

void fault_visit_rules(void (*visit)(const struct fault_rule *rule, void *argument), void *argument)
{
	HOLD_LOCK(&engine->fault->lock);
	for (const struct fault_rule *rule = engine->fault->rules; rule; rule = rule->next)
		visit(rule, argument);
}

void fault_read_setting(void)
{
	const char *setting = secure_getenv("SOFTVERBS_FAULT");
	char message[FAULT_MAX_MESSAGE];
	struct fault_rule *list;

	if (!setting || !*setting)
		return;
	list = fault_parse(setting, message);
	if (!list) {
		log_error("SOFTVERBS_FAULT=%.100s is not understood: %.300s; see docs/fault-injection.md, or unset it",
			  setting, message);
		engine->fault->misread = true;
		return;
	}
	fault_add_rules(list);
}

bool fault_setting_is_misread(void)
{
	return engine->fault->misread;
}

static bool claim(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0) {
		if (errno != EEXIST)
			log_error("fault once=%s: %s", path, strerror(errno));
		return false;
	}
	close(fd);
	return true;
}

/* Draws one number for each rule and event, which does not depend on the order of threads (splitmix64). */
static bool draws(const struct fault_rule *rule)
{
	uint64_t z = rule->seed + rule->seen * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % 1000 < rule->probability;
}

static bool concerns(const struct fault_rule *rule, enum fault_point point, const struct fault_subject *subject)
{
	return rule->point == point && (!(rule->keys & KEY_KIND) || rule->kind == subject->kind) &&
	       (!(rule->keys & KEY_QP) || rule->qpn == subject->qpn) && subject->length >= rule->min_length &&
	       (!(rule->keys & KEY_RESULT) || rule->result == subject->result) && (!rule->remote || subject->remote);
}

/* Called after the event was counted. */
static bool strikes(const struct fault_rule *rule)
{
	uint64_t number = rule->seen - rule->nth;

	if (rule->seen < rule->nth || number % rule->every)
		return false;
	if (rule->keys & KEY_PROBABILITY)
		return rule->hits < rule->count && draws(rule);
	return number / rule->every < rule->count;
}

const struct fault *fault_hit(enum fault_point point, const struct fault_subject *subject)
{
	struct fault_rule *found = NULL;
	uint64_t event = 0;

	pthread_mutex_lock(&engine->fault->lock);
	for (struct fault_rule *rule = engine->fault->rules; rule; rule = rule->next) {
		if (!concerns(rule, point, subject))
			continue;
		rule->seen++;
		if (found || !strikes(rule) || (rule->once && !claim(rule->once)))
			continue;
		found = rule;
		event = rule->seen;
		rule->hits++;
	}
	pthread_mutex_unlock(&engine->fault->lock);
	if (!found)
		return NULL;
	log_info("fault %s at event %llu", found->text, (unsigned long long)event);
	if (found->fault.raise >= 0)
		fault_raise(found->fault.raise, subject->qpn);
	return &found->fault;
}

void fault_wait(const struct fault *fault)
{
	struct timespec pause = {fault->delay_ms / 1000, fault->delay_ms % 1000 * 1000000};

	while (fault->delay_ms && nanosleep(&pause, &pause) && errno == EINTR)
		;
}

int fault_call_hit(enum fault_point point, const struct fault_subject *subject)
{
	const struct fault *fault = fault_hit(point, subject);

	if (!fault)
		return 0;
	fault_wait(fault);
	return fault->error;
}

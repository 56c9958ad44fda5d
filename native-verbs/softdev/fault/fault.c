/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
/* The fault points, and the rules that are in force. */
#include "fault/fault.h"

#include "engine.h"
#include "fault/fault_async.h"
#include "fault/fault_rules.h"
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

#include "cm/cm_wire.h"
#include "queue/wire.h"

bool fault_any;

static const struct fault_name wr_opcodes[] = {
	{"WRITE", IBV_WR_RDMA_WRITE},
	{"WRITE_WITH_IMM", IBV_WR_RDMA_WRITE_WITH_IMM},
	{"SEND", IBV_WR_SEND},
	{"SEND_WITH_IMM", IBV_WR_SEND_WITH_IMM},
	{"READ", IBV_WR_RDMA_READ},
	{"CMP_AND_SWP", IBV_WR_ATOMIC_CMP_AND_SWP},
	{"FETCH_AND_ADD", IBV_WR_ATOMIC_FETCH_AND_ADD},
	{"LOCAL_INV", IBV_WR_LOCAL_INV},
	{"BIND_MW", IBV_WR_BIND_MW},
	{"SEND_WITH_INV", IBV_WR_SEND_WITH_INV},
	{NULL, 0},
};

static const struct fault_name wc_opcodes[] = {
	{"SEND", IBV_WC_SEND},
	{"WRITE", IBV_WC_RDMA_WRITE},
	{"READ", IBV_WC_RDMA_READ},
	{"CMP_AND_SWP", IBV_WC_COMP_SWAP},
	{"FETCH_AND_ADD", IBV_WC_FETCH_ADD},
	{"BIND_MW", IBV_WC_BIND_MW},
	{"LOCAL_INV", IBV_WC_LOCAL_INV},
	{"RECV", IBV_WC_RECV},
	{"RECV_WITH_IMM", IBV_WC_RECV_RDMA_WITH_IMM},
	{NULL, 0},
};

static const struct fault_name qp_states[] = {
	{"RESET", IBV_QPS_RESET}, {"INIT", IBV_QPS_INIT}, {"RTR", IBV_QPS_RTR}, {"RTS", IBV_QPS_RTS},
	{"SQD", IBV_QPS_SQD},	  {"SQE", IBV_QPS_SQE},	  {"ERR", IBV_QPS_ERR}, {NULL, 0},
};

static const struct fault_name frame_ops[] = {
	{"QP_OPEN", WIRE_QP_OPEN},
	{"QP_OPEN_REPLY", WIRE_QP_OPEN_REPLY},
	{"SEND", WIRE_SEND},
	{"WRITE", WIRE_WRITE},
	{"READ", WIRE_READ},
	{"READ_DATA", WIRE_READ_DATA},
	{"ACK", WIRE_ACK},
	{"RNR_NAK", WIRE_RNR_NAK},
	{"NAK", WIRE_NAK},
	{"FILE_REQUEST", WIRE_FILE_REQUEST},
	{"FILE_REPLY", WIRE_FILE_REPLY},
	{"FILE_REVOKE", WIRE_FILE_REVOKE},
	{"CMP_AND_SWP", WIRE_COMPARE_SWAP},
	{"FETCH_AND_ADD", WIRE_FETCH_ADD},
	{NULL, 0},
};

static const struct fault_name cm_frame_ops[] = {
	{"REQUEST", CM_FRAME_REQUEST},
	{"REPLY", CM_FRAME_REPLY},
	{"REJECT", CM_FRAME_REJECT},
	{"BUSY", CM_FRAME_BUSY},
	{"READY", CM_FRAME_READY},
	{"DISCONNECT", CM_FRAME_DISCONNECT},
	{"DISCONNECTED", CM_FRAME_DISCONNECTED},
	{NULL, 0},
};

static const struct fault_name datagram_kinds[] = {
	{"REQUEST", CM_DATAGRAM_REQUEST},
	{"REPLY", CM_DATAGRAM_REPLY},
	{NULL, 0},
};

static const struct fault_name link_kinds[] = {{"QP", LINK_KIND_QP}, {"CM", LINK_KIND_CM}, {NULL, 0}};

enum {
	CALL = KEY_ERRNO | KEY_DELAY,
	POST = KEY_ERRNO | KEY_RAISE | KEY_KIND | KEY_QP | KEY_LENGTH,
	ACTION = KEY_STATUS | KEY_KILLPEER | KEY_STOPPEER | KEY_RAISE | KEY_QP | KEY_LENGTH,
	FRAME = KEY_DROP | KEY_DELAY | KEY_FLIP | KEY_OFFSET | KEY_TRUNCATE | KEY_CUT | KEY_SILENCE |
		KEY_KIND | KEY_LENGTH,
};

const struct fault_point_row fault_points[FAULT_POINTS] = {
	[FAULT_OPEN_DEVICE] = {"open_device", CALL, NULL, NULL},
	[FAULT_ALLOC_PD] = {"alloc_pd", CALL, NULL, NULL},
	[FAULT_REG_MR] = {"reg_mr", CALL | KEY_LENGTH, NULL, NULL},
	[FAULT_DEREG_MR] = {"dereg_mr", CALL | KEY_LENGTH, NULL, NULL},
	[FAULT_CREATE_COMP_CHANNEL] = {"create_comp_channel", CALL, NULL, NULL},
	[FAULT_CREATE_CQ] = {"create_cq", CALL, NULL, NULL},
	[FAULT_CREATE_SRQ] = {"create_srq", CALL, NULL, NULL},
	[FAULT_CREATE_AH] = {"create_ah", CALL, NULL, NULL},
	[FAULT_ALLOC_MW] = {"alloc_mw", CALL, NULL, NULL},
	[FAULT_CREATE_QP] = {"create_qp", CALL, NULL, NULL},
	[FAULT_MODIFY_QP] = {"modify_qp", CALL | KEY_KIND | KEY_QP, "state", qp_states},
	[FAULT_DESTROY_QP] = {"destroy_qp", CALL | KEY_QP, NULL, NULL},
	[FAULT_CREATE_EVENT_CHANNEL] = {"create_event_channel", CALL, NULL, NULL},
	[FAULT_CREATE_ID] = {"create_id", CALL, NULL, NULL},
	[FAULT_BIND_ADDR] = {"bind_addr", CALL, NULL, NULL},
	[FAULT_LISTEN] = {"listen", CALL, NULL, NULL},
	[FAULT_RESOLVE_ADDR] = {"resolve_addr", CALL, NULL, NULL},
	[FAULT_RESOLVE_ROUTE] = {"resolve_route", CALL, NULL, NULL},
	[FAULT_CONNECT] = {"connect", CALL, NULL, NULL},
	[FAULT_ACCEPT] = {"accept", CALL, NULL, NULL},
	[FAULT_DISCONNECT] = {"disconnect", CALL, NULL, NULL},
	[FAULT_POST_SEND] = {"post_send", POST, "opcode", wr_opcodes},
	[FAULT_POST_RECV] = {"post_recv", POST & ~(KEY_KIND | KEY_LENGTH), NULL, NULL},
	[FAULT_POST_SRQ_RECV] = {"post_srq_recv", KEY_ERRNO, NULL, NULL},
	[FAULT_WR] = {"wr", ACTION | KEY_KIND, "opcode", wr_opcodes},
	[FAULT_READ] = {"read", ACTION | KEY_FLIP | KEY_OFFSET | KEY_TRUNCATE, NULL, NULL},
	[FAULT_RECV] = {"recv", KEY_STATUS | KEY_RNR | KEY_RAISE | KEY_QP | KEY_LENGTH, NULL, NULL},
	[FAULT_COMPLETION] = {"completion",
			      KEY_DROP | KEY_DELAY | KEY_DUPLICATE | KEY_OVERRUN | KEY_RAISE | KEY_KIND |
				      KEY_QP | KEY_LENGTH | KEY_RESULT,
			      "opcode", wc_opcodes},
	[FAULT_CMA] = {"cma", KEY_ERRNO | KEY_DELAY | KEY_QP | KEY_LENGTH, NULL, NULL},
	[FAULT_FILE] = {"file", KEY_ERRNO | KEY_DELAY | KEY_QP | KEY_LENGTH, NULL, NULL},
	[FAULT_SHARE_FILE] = {"share_file", KEY_ERRNO | KEY_QP, NULL, NULL},
	[FAULT_LINK] = {"link", KEY_REFUSE | KEY_SILENCE | KEY_RATE | KEY_DELAY | KEY_KIND, "kind", link_kinds},
	[FAULT_FRAME] = {"frame", FRAME | KEY_QP, "op", frame_ops},
	[FAULT_DATAGRAM] = {"datagram",
			    KEY_DROP | KEY_DUPLICATE | KEY_FLIP | KEY_OFFSET | KEY_QP | KEY_LENGTH, NULL, NULL},
	[FAULT_CM_FRAME] = {"cm_frame", FRAME | KEY_REASON, "op", cm_frame_ops},
	[FAULT_CM_DATAGRAM] = {"cm_datagram", KEY_DROP | KEY_KIND, "kind", datagram_kinds},
	[FAULT_CM_EVENT] = {"cm_event", KEY_DROP | KEY_DELAY | KEY_EVENT | KEY_ERRNO | KEY_REASON | KEY_KIND,
			    "type", fault_cm_events},
};

struct fault_state {
	pthread_mutex_t lock; /* a leaf; guards the rules */
	struct fault_rule *rules;
	struct fault_rule *retired; /* work requests may still point to their faults */
	unsigned int last_number;
};

ENGINE_PART(fault, NULL);

static void add(struct fault_rule *rule)
{
	struct fault_rule **place = &engine->fault->rules;

	while (*place)
		place = &(*place)->next;
	rule->next = NULL;
	rule->number = ++engine->fault->last_number;
	*place = rule;
}

void fault_enable(void)
{
	__atomic_store_n(&fault_any, true, __ATOMIC_RELAXED);
}

unsigned int fault_add_rules(struct fault_rule *list)
{
	unsigned int first;

	pthread_mutex_lock(&engine->fault->lock);
	first = engine->fault->last_number + 1;
	while (list) {
		struct fault_rule *next = list->next;

		add(list);
		list = next;
	}
	fault_enable();
	pthread_mutex_unlock(&engine->fault->lock);
	return first;
}

unsigned int fault_clear_rules(unsigned int number)
{
	struct fault_rule **place = &engine->fault->rules;
	unsigned int cleared = 0;

	pthread_mutex_lock(&engine->fault->lock);
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
	pthread_mutex_unlock(&engine->fault->lock);
	return cleared;
}

void fault_visit_rules(void (*visit)(const struct fault_rule *rule, void *argument), void *argument)
{
	pthread_mutex_lock(&engine->fault->lock);
	for (const struct fault_rule *rule = engine->fault->rules; rule; rule = rule->next)
		visit(rule, argument);
	pthread_mutex_unlock(&engine->fault->lock);
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
		abort();
	}
	fault_add_rules(list);
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

/* One number a rule and event, whatever the threads do (splitmix64). */
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
	       (!(rule->keys & KEY_RESULT) || rule->result == subject->result);
}

/* The event was counted already. */
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
		fault_raise_soon(found->fault.raise, subject->qpn);
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

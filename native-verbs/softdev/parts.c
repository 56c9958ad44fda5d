/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles the device: creates the engine from its parts, and names the functions that lower folders call in higher
 * ones. No other file includes headers of all folders.
 */
#include "cm/cm.h"
#include "cm/cm_wire.h"
#include "datagram/ud.h"
#include "device/device.h"
#include "engine.h"
#include "fault/fault_control.h"
#include "fault/fault_rules.h"
#include "link/link.h"
#include "link/link_fault.h"
#include "memory/mr.h"
#include "memory/mw.h"
#include "process/log.h"
#include "process/progress.h"
#include "queue/qp.h"
#include "queue/qp_fault.h"
#include "queue/wire.h"
#include "transport/file_share.h"
#include "transport/transport.h"

#include <pthread.h>
#include <stdlib.h>

struct engine *engine;

static const struct {
	size_t place;
	const struct engine_part *part;
} parts[] = {
#define ENGINE_ROW(name) {offsetof(struct engine, name), &name##_part},
	ENGINE_PARTS(ENGINE_ROW)
#undef ENGINE_ROW
};

/* Returns false if memory is short. What there is of the engine by then stays. */
static bool make_parts(void)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		void *part = calloc(1, parts[i].part->bytes);

		if (!part || (parts[i].part->init && !parts[i].part->init(part)))
			return false;
		*(void **)(void *)((char *)engine + parts[i].place) = part;
	}
	return true;
}

static void create_engine(void)
{
	struct engine *created = calloc(1, sizeof(*created));

	if (created)
		created->inherited = engine;
	engine = created;
	if (created && make_parts()) {
		fault_read_setting();
	} else {
		engine = NULL;
		log_error("no memory for the device, so this process has none: raise its limit (ulimit -v), or that of its container");
	}
}

/*
 * Runs in the child of a fork. It closes the descriptors of the parent's engine, which would keep connections open, and
 * creates an engine for the child.
 */
static void begin_anew(void)
{
	progress_after_fork_in_child();
	create_engine();
}

/* The priority makes it run before the other constructors. */
__attribute__((constructor(101))) static void start(void)
{
	create_engine();
	pthread_atfork(progress_before_fork, progress_after_fork_in_parent, begin_anew);
}

void (*const device_operations[])(struct verbs_context *verbs) = {
	query_set_ops, pd_set_ops, advice_set_ops, cq_set_ops, qp_set_ops, srq_set_ops, mw_set_ops, NULL,
};

void (*const mr_file_revoked)(void) = file_share_revoke;

void (*const link_incoming[LINK_KINDS])(struct link *link) = {
	[LINK_KIND_QP] = qp_on_incoming_link,
	[LINK_KIND_CM] = cm_on_incoming_link,
};

const struct qp_transport *const qp_transports[IBV_QPT_UD + 1] = {
	[IBV_QPT_RC] = &connected_transport,
	[IBV_QPT_UC] = &connected_transport,
	[IBV_QPT_UD] = &datagram_transport,
};

const struct fault_name fault_frame_ops[] = {
	FAULT_NAME(WIRE_, QP_OPEN), FAULT_NAME(WIRE_, QP_OPEN_REPLY), FAULT_NAME(WIRE_, SEND), FAULT_NAME(WIRE_, WRITE),
	FAULT_NAME(WIRE_, READ), FAULT_NAME(WIRE_, READ_DATA), FAULT_NAME(WIRE_, ACK), FAULT_NAME(WIRE_, RNR_NAK), FAULT_NAME(WIRE_, NAK),
	FAULT_NAME(WIRE_, FILE_REQUEST), FAULT_NAME(WIRE_, FILE_REPLY), FAULT_NAME(WIRE_, FILE_REVOKE),
	{"CMP_AND_SWP", WIRE_COMPARE_SWAP}, {"FETCH_AND_ADD", WIRE_FETCH_ADD}, {NULL, 0},
};

const struct fault_name fault_cm_frame_ops[] = {
	FAULT_NAME(CM_FRAME_, REQUEST), FAULT_NAME(CM_FRAME_, REPLY), FAULT_NAME(CM_FRAME_, REJECT), FAULT_NAME(CM_FRAME_, BUSY),
	FAULT_NAME(CM_FRAME_, READY), FAULT_NAME(CM_FRAME_, DISCONNECT), FAULT_NAME(CM_FRAME_, DISCONNECTED), {NULL, 0},
};

const struct fault_name fault_cm_datagram_kinds[] = {
	FAULT_NAME(CM_DATAGRAM_, REQUEST), FAULT_NAME(CM_DATAGRAM_, REPLY), {NULL, 0},
};

const struct fault_name fault_link_kinds[] = {FAULT_NAME(LINK_KIND_, QP), FAULT_NAME(LINK_KIND_, CM), {NULL, 0}};

void (*const fault_raise)(int event, uint32_t qpn) = qp_fault_raise;

const struct fault_command fault_commands[] = {
	{"raise", qp_fault_raise_command},
	{"links", link_fault_command},
	{NULL, NULL},
};

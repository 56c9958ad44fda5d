/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a queue pair: the transitions, and the attributes that each requires and allows for each
 * transport (InfiniBand Architecture Specification volume 1, 10.3.1 and 11.2.5.2; ibv_modify_qp(3)). A transition that
 * is not in the table is refused. Only errors enter SQE (UC and UD); errors enter ERR as well.
 */
#include "memory/peer_table.h"
#include "process/log.h"
#include "queue/qp.h"

#include <errno.h>
#include <string.h>

enum transport { RC, UC, UD, TRANSPORTS };

/* The attributes of each transport, in the order of the enumeration. */
struct transition {
	unsigned int valid; /* bits 1 << transport: the transports that have this transition */
	int required[TRANSPORTS], optional[TRANSPORTS];
};

enum {
	ALL = 1 << RC | 1 << UC | 1 << UD,
	ACCESS = IBV_QP_ACCESS_FLAGS,
	TO_INIT = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	TO_RTR = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	TO_RTS = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	IN_RTS_UC = IBV_QP_CUR_STATE | ACCESS | IBV_QP_PATH_MIG_STATE,
	IN_RTS_UD = IBV_QP_CUR_STATE | IBV_QP_QKEY,
	IN_SQD_UC = IBV_QP_AV | ACCESS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE,
	DRAINED = IBV_QP_EN_SQD_ASYNC_NOTIFY,
};

#define INIT_ATTRIBUTES {TO_INIT | ACCESS, TO_INIT | ACCESS, TO_INIT | IBV_QP_QKEY}
#define RTS_ATTRIBUTES {IN_RTS_UC | IBV_QP_MIN_RNR_TIMER, IN_RTS_UC, IN_RTS_UD}
#define TO_RESET_OR_ERROR [IBV_QPS_RESET] = {.valid = ALL}, [IBV_QPS_ERR] = {.valid = ALL}

static const struct transition transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = {.valid = ALL},
		[IBV_QPS_INIT] = {.valid = ALL, .required = INIT_ATTRIBUTES},
	},
	[IBV_QPS_INIT] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_INIT] = {.valid = ALL, .optional = INIT_ATTRIBUTES},
		[IBV_QPS_RTR] = {.valid = ALL,
				 .required = {TO_RTR | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, TO_RTR, 0},
				 .optional = {ACCESS | IBV_QP_PKEY_INDEX, ACCESS | IBV_QP_PKEY_INDEX,
					      IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
	},
	[IBV_QPS_RTR] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = ALL,
				 .required = {TO_RTS | IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN},
				 .optional = RTS_ATTRIBUTES},
	},
	[IBV_QPS_RTS] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = ALL, .optional = RTS_ATTRIBUTES},
		[IBV_QPS_SQD] = {.valid = ALL, .optional = {DRAINED, DRAINED, DRAINED}},
	},
	[IBV_QPS_SQD] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = ALL, .optional = RTS_ATTRIBUTES},
		[IBV_QPS_SQD] = {.valid = ALL,
				 .optional = {IN_SQD_UC | TO_RTS | IBV_QP_PORT | IBV_QP_MAX_DEST_RD_ATOMIC |
						      IBV_QP_MIN_RNR_TIMER,
					      IN_SQD_UC, IBV_QP_PKEY_INDEX | IBV_QP_QKEY}},
	},
	[IBV_QPS_SQE] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = 1 << UC | 1 << UD,
				 .optional = {0, IBV_QP_CUR_STATE | ACCESS, IN_RTS_UD}},
	},
	[IBV_QPS_ERR] = {TO_RESET_OR_ERROR},
};

static enum transport transport_of(const struct softdev_qp *qp)
{
	return qp->base.qp_type == IBV_QPT_UD ? UD : qp->base.qp_type == IBV_QPT_UC ? UC : RC;
}

/* RoCE needs a GRH, which carries the address. */
static bool path_is_valid(const struct ibv_ah_attr *path)
{
	return path->is_global && path->port_num == 1 && !gid_table_is_empty_at(path->grh.sgid_index);
}

/*
 * Programs pass the access flags of their regions here, and the kernel allows it. Newer headers have
 * IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which no region of this device has.
 */
enum { FLUSH_ACCESS = 3 << 8, KNOWN_ACCESS = MR_ACCESS_FLAGS | FLUSH_ACCESS };

/*
 * The bit of an attribute, its field, and whether its value is valid. MIGRATED is the only path migration state of a
 * device without automatic path migration.
 */
#define ATTRIBUTES(row)                                                                                                \
	row(IBV_QP_PORT, port_num, attr->port_num == 1)                                                                \
	row(IBV_QP_PKEY_INDEX, pkey_index, attr->pkey_index == 0)                                                      \
	row(IBV_QP_ACCESS_FLAGS, qp_access_flags, !(attr->qp_access_flags & ~(unsigned int)KNOWN_ACCESS))              \
	row(IBV_QP_AV, ah_attr, path_is_valid(&attr->ah_attr))                                                         \
	row(IBV_QP_PATH_MTU, path_mtu, attr->path_mtu >= IBV_MTU_256 && attr->path_mtu <= DEVICE_MTU)                  \
	row(IBV_QP_DEST_QPN, dest_qp_num, attr->dest_qp_num <= 0xffffff)                                               \
	row(IBV_QP_QKEY, qkey, true)                                                                                   \
	row(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic, attr->max_rd_atomic <= DEVICE_MAX_RD_ATOMIC)                       \
	row(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, attr->max_dest_rd_atomic <= DEVICE_MAX_RD_ATOMIC)           \
	row(IBV_QP_TIMEOUT, timeout, attr->timeout <= 31)                                                              \
	row(IBV_QP_RETRY_CNT, retry_cnt, attr->retry_cnt <= 7)                                                         \
	row(IBV_QP_RNR_RETRY, rnr_retry, attr->rnr_retry <= 7)                                                         \
	row(IBV_QP_MIN_RNR_TIMER, min_rnr_timer, attr->min_rnr_timer <= 31)                                            \
	row(IBV_QP_PATH_MIG_STATE, path_mig_state, attr->path_mig_state == IBV_MIG_MIGRATED)

static bool values_are_valid(const struct ibv_qp_attr *attr, int mask)
{
#define CHECK_VALUE(bit, field, valid)                                                                                 \
	if ((mask & (bit)) && !(valid))                                                                                \
		return false;
	ATTRIBUTES(CHECK_VALUE)
	return true;
}

int qp_check_transition(const struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state *next)
{
	enum ibv_qp_state current = atomic_load(&qp->state);
	enum transport transport = transport_of(qp);
	const struct transition *transition;

	*next = mask & IBV_QP_STATE ? attr->qp_state : current;
	if (*next > IBV_QPS_ERR)
		return EINVAL;
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != current)
		return EINVAL;
	transition = &transitions[current][*next];
	if (!(transition->valid & 1 << transport))
		return EINVAL;
	if ((mask & transition->required[transport]) != transition->required[transport] ||
	    (mask & ~(transition->required[transport] | transition->optional[transport] | IBV_QP_STATE)))
		return EINVAL;
	return values_are_valid(attr, mask) ? 0 : EINVAL;
}

/* A sequence number has 24 bits; the kernel's drivers truncate it as well. */
static uint32_t psn_of(uint32_t given)
{
	if (given > 0xffffff)
		log_warn("PSN %#x has more than 24 bits: using %#x", given, given & 0xffffff);
	return given & 0xffffff;
}

void qp_apply_attributes(struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *own = &qp->attr;

	if ((mask & IBV_QP_AV) && qp->requester.state != REQUESTER_DOWN &&
	    memcmp(&own->ah_attr.grh.dgid, &attr->ah_attr.grh.dgid, sizeof(union ibv_gid)))
		qp->requester.path_changed = true;
#define TAKE_VALUE(bit, field, valid)                                                                                  \
	if (mask & (bit))                                                                                              \
		own->field = attr->field;
	ATTRIBUTES(TAKE_VALUE)
	if (mask & IBV_QP_RQ_PSN)
		qp->responder.expected_seq = own->rq_psn = psn_of(attr->rq_psn);
	if (mask & IBV_QP_SQ_PSN)
		qp->sq.next_seq = own->sq_psn = psn_of(attr->sq_psn);
	if (mask & IBV_QP_RNR_RETRY)
		qp->requester.rnr_retries_left = attr->rnr_retry;
}

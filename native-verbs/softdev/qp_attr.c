/* SPDX-License-Identifier: Apache-2.0 */
/* Which attributes a state transition of an RC queue pair requires and allows, and their values. */
#include "peer_table.h"
#include "qp.h"

#include <errno.h>
#include <string.h>

struct transition {
	bool valid;
	int required, optional;
};

enum {
	TO_RTS_OPTIONAL = IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
			  IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE,
};

#define TO_RESET_OR_ERROR [IBV_QPS_RESET] = {.valid = true}, [IBV_QPS_ERR] = {.valid = true}

static const struct transition transitions[IBV_QPS_ERR + 1][IBV_QPS_ERR + 1] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = {.valid = true},
		[IBV_QPS_INIT] = {.valid = true,
				  .required = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
	},
	[IBV_QPS_INIT] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_INIT] = {.valid = true,
				  .optional = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		[IBV_QPS_RTR] = {.valid = true,
				 .required = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_MIN_RNR_TIMER,
				 .optional = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS |
					     IBV_QP_PKEY_INDEX},
	},
	[IBV_QPS_RTR] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = true,
				 .required = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
				 .optional = TO_RTS_OPTIONAL},
	},
	[IBV_QPS_RTS] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = true, .optional = TO_RTS_OPTIONAL},
		[IBV_QPS_SQD] = {.valid = true, .optional = IBV_QP_EN_SQD_ASYNC_NOTIFY},
	},
	[IBV_QPS_SQD] = {
		TO_RESET_OR_ERROR,
		[IBV_QPS_RTS] = {.valid = true, .optional = TO_RTS_OPTIONAL},
		[IBV_QPS_SQD] = {.valid = true,
				 .optional = IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT |
					     IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					     IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_PKEY_INDEX | TO_RTS_OPTIONAL},
	},
	[IBV_QPS_SQE] = {TO_RESET_OR_ERROR},
	[IBV_QPS_ERR] = {TO_RESET_OR_ERROR},
};

static bool values_are_valid(const struct ibv_qp_attr *attr, int mask)
{
	const int remote_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				  IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

	if ((mask & IBV_QP_PORT) && attr->port_num != 1)
		return false;
	if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index)
		return false;
	if ((mask & IBV_QP_ACCESS_FLAGS) && (attr->qp_access_flags & ~remote_access))
		return false;
	if ((mask & IBV_QP_PATH_MTU) &&
	    (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		return false;
	if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) && attr->max_rd_atomic > DEVICE_MAX_RD_ATOMIC)
		return false;
	if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) && attr->max_dest_rd_atomic > DEVICE_MAX_RD_ATOMIC)
		return false;
	if ((mask & IBV_QP_TIMEOUT) && attr->timeout > 31)
		return false;
	if ((mask & IBV_QP_RETRY_CNT) && attr->retry_cnt > 7)
		return false;
	if ((mask & IBV_QP_RNR_RETRY) && attr->rnr_retry > 7)
		return false;
	if ((mask & IBV_QP_MIN_RNR_TIMER) && attr->min_rnr_timer > 31)
		return false;
	/* RoCE: without a GRH there is no address. */
	if ((mask & IBV_QP_AV) &&
	    (!attr->ah_attr.is_global || attr->ah_attr.port_num > 1 ||
	     attr->ah_attr.grh.sgid_index >= gid_table_length()))
		return false;
	return true;
}

int qp_check_transition(const struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state *next)
{
	enum ibv_qp_state current = atomic_load(&qp->state);
	const struct transition *transition;

	*next = mask & IBV_QP_STATE ? attr->qp_state : current;
	if (*next > IBV_QPS_ERR)
		return EINVAL;
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != current)
		return EINVAL;
	transition = &transitions[current][*next];
	if (!transition->valid)
		return EINVAL;
	if ((mask & transition->required) != transition->required ||
	    (mask & ~(transition->required | transition->optional | IBV_QP_STATE)))
		return EINVAL;
	return values_are_valid(attr, mask) ? 0 : EINVAL;
}

void qp_apply_attributes(struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *own = &qp->attr;

#define TAKE(bit, field)              \
	do {                          \
		if (mask & (bit))     \
			own->field = attr->field; \
	} while (0)
	TAKE(IBV_QP_PORT, port_num);
	TAKE(IBV_QP_PKEY_INDEX, pkey_index);
	TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
	TAKE(IBV_QP_AV, ah_attr);
	TAKE(IBV_QP_PATH_MTU, path_mtu);
	TAKE(IBV_QP_DEST_QPN, dest_qp_num);
	TAKE(IBV_QP_RQ_PSN, rq_psn);
	TAKE(IBV_QP_SQ_PSN, sq_psn);
	TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
	TAKE(IBV_QP_TIMEOUT, timeout);
	TAKE(IBV_QP_RETRY_CNT, retry_cnt);
	TAKE(IBV_QP_RNR_RETRY, rnr_retry);
#undef TAKE
	if (mask & IBV_QP_SQ_PSN)
		qp->next_seq = attr->sq_psn & 0xffffff;
	own->rq_psn &= 0xffffff;
	own->sq_psn &= 0xffffff;
	if (mask & IBV_QP_RNR_RETRY)
		qp->rnr_retries_left = attr->rnr_retry;
}

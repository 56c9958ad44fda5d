/* SPDX-License-Identifier: Apache-2.0 */
/* Unreliable connections by ibv_modify_qp, with the attributes that these require and without the others. */
#ifndef SHUFFLE_RDMA_UC_SIDE_H
#define SHUFFLE_RDMA_UC_SIDE_H

#include "softdev_fixture.h"

static inline void create_uc_qp(struct side *side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = side->cq,
		.recv_cq = side->cq,
		.cap = {64, 64, 4, 4, 64},
		.qp_type = IBV_QPT_UC,
	};

	CHECK_EQUAL(softverbs_ibv_destroy_qp(side->qp), 0);
	side->qp = softverbs_ibv_create_qp(side->pd, &init);
	CHECK(side->qp);
}

static inline void uc_to_rtr(struct side *side, const struct address *remote)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = remote->qpn,
		.rq_psn = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = remote->gid, .hop_limit = 1}},
	};
	const int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	to_init(side->qp, ALL_REMOTE);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, mask | IBV_QP_MIN_RNR_TIMER), EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, mask), 0);
}

static inline void uc_to_rts(struct side *side)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .sq_psn = 9};

	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT),
		    EINVAL);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

#endif

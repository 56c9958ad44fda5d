/* SPDX-License-Identifier: Apache-2.0 */
/* What the device tells of a queue pair. */
#ifndef SHUFFLE_RDMA_TEST_QUERY_QP_H
#define SHUFFLE_RDMA_TEST_QUERY_QP_H

#include "exports.h"
#include "test.h"

static inline struct ibv_qp_attr query_qp(struct ibv_qp *qp, int mask)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK_EQUAL(softverbs_ibv_query_qp(qp, &attr, mask, &init), 0);
	return attr;
}

static inline enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	return query_qp(qp, IBV_QP_STATE).qp_state;
}

#endif

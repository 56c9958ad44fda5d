/* SPDX-License-Identifier: Apache-2.0 */
/* A READ of a queue pair that may have none outstanding (max_rd_atomic 0): LOC_QP_OP_ERR. */
#include "error_row.h"

static const struct error_row rows[] = {
	{.name = "READ",
	 .requester = {.no_initiator_depth = true}, .opcode = IBV_WR_RDMA_READ, FAILS_ALONE(IBV_WC_LOC_QP_OP_ERR)},
	{.status = IBV_WC_SUCCESS},
};

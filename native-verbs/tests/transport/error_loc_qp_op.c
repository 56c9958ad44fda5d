/* SPDX-License-Identifier: Apache-2.0 */
/* A READ of a queue pair that may have none outstanding (max_rd_atomic 0): LOC_QP_OP_ERR. */
#include "error_row.h"

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
}

static const struct error_row rows[] = {
	{.name = "READ",
	 .requester = {.no_initiator_depth = true},
	 .fill = read_it,
	 FAILS_ALONE(IBV_WC_LOC_QP_OP_ERR)},
	{.status = IBV_WC_SUCCESS},
};

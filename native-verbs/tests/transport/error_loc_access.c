/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WRITE with immediate data to bytes that it may not touch: LOC_ACCESS_ERR of the receive that it takes (and no async
 * event), REM_ACCESS_ERR at the requester.
 */
#include "error_row.h"

static void wrong_rkey(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr->wr.rdma.rkey ^= 1;
}

static void out_of_bounds(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr->wr.rdma.remote_addr += ROW_BYTES - 7;
}

static const struct error_row rows[] = {
	{.name = "wrong rkey",
	 .fill = wrong_rkey, FAILS_BOTH(IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR, NO_EVENT)},
	{.name = "out of bounds",
	 .fill = out_of_bounds, FAILS_BOTH(IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

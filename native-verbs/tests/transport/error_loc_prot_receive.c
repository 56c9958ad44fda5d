/* SPDX-License-Identifier: Apache-2.0 */
/* A receive whose list the receiver's regions do not cover: LOC_PROT_ERR there, REM_OP_ERR at the sender. */
#include "error_row.h"

static void send_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_SEND;
}

static void wrong_lkey(struct error_run *run)
{
	run->receives[0].lkey ^= 1;
}

static void out_of_bounds(struct error_run *run)
{
	run->receives[0].addr += ROW_BYTES - 4;
}

static void without_local_write(struct error_run *run)
{
	run->extra = softverbs_ibv_reg_mr(run->pair.b.pd, run->remote.bytes, ROW_BYTES, 0);
	CHECK(run->extra);
	run->receives[0].lkey = run->extra->lkey;
}

static const struct error_row rows[] = {
	{.name = "wrong lkey",
	 .prepare = wrong_lkey,
	 .fill = send_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT)},
	{.name = "out of bounds",
	 .prepare = out_of_bounds,
	 .fill = send_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT)},
	{.name = "without LOCAL_WRITE",
	 .prepare = without_local_write,
	 .fill = send_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* A receive whose list the receiver's regions do not cover: LOC_PROT_ERR there, REM_OP_ERR at the sender. */
#include "error_row.h"

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
	run->receives[0] = sge_of(add_region(&run->pair.b, ROW_BYTES, 0), 0, 64);
}

#define BAD_RECEIVE .opcode = IBV_WR_SEND, FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, NO_EVENT)

static const struct error_row rows[] = {
	{.name = "wrong lkey", .spoil = wrong_lkey, BAD_RECEIVE},
	{.name = "out of bounds", .spoil = out_of_bounds, BAD_RECEIVE},
	{.name = "without LOCAL_WRITE", .spoil = without_local_write, BAD_RECEIVE},
	{.status = IBV_WC_SUCCESS},
};

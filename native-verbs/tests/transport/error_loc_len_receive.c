/* SPDX-License-Identifier: Apache-2.0 */
/* A SEND longer than the receive: LOC_LEN_ERR at the receiver (and no async event), REM_INV_REQ_ERR at the sender. */
#include "error_row.h"

static void send_65_bytes(struct error_run *run, struct ibv_send_wr *wr)
{
	run->list[0].length = 65;
	wr->opcode = IBV_WR_SEND;
}

static void without_a_list(struct error_run *run)
{
	run->receives[0].length = 0;
}

static const struct error_row rows[] = {
	{.name = "receive too short",
	 .fill = send_65_bytes, FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, NO_EVENT)},
	{.name = "receive without a list",
	 .prepare = without_a_list,
	 .fill = send_65_bytes,
	 FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

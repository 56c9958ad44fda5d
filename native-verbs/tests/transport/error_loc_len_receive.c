/* SPDX-License-Identifier: Apache-2.0 */
/* A SEND longer than the receive: LOC_LEN_ERR at the receiver (and no async event), REM_INV_REQ_ERR at the sender. */
#include "error_row.h"

static void one_byte_too_many(struct error_run *run)
{
	run->list[0].length = run->receives[0].length + 1;
}

static void into_no_list(struct error_run *run)
{
	run->list[0].length = 65;
	run->receives[0].length = 0;
}

#define TOO_LONG .opcode = IBV_WR_SEND, FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, NO_EVENT)

static const struct error_row rows[] = {
	{.name = "receive too short", .spoil = one_byte_too_many, TOO_LONG},
	{.name = "receive without a list", .spoil = into_no_list, TOO_LONG},
	{.status = IBV_WC_SUCCESS},
};

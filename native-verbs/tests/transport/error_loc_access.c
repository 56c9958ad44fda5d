/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WRITE with immediate data to bytes that it may not touch: LOC_ACCESS_ERR of the receive that it takes (and no async
 * event), REM_ACCESS_ERR at the requester.
 */
#include "error_row.h"

#define WRITE_REFUSED                                                                              \
	.opcode = IBV_WR_RDMA_WRITE_WITH_IMM, FAILS_BOTH(IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR, NO_EVENT)

static const struct error_row rows[] = {
	{.name = "wrong rkey", .wrong_rkey = true, WRITE_REFUSED},
	{.name = "out of bounds", .remote_offset = ROW_BYTES - 7, WRITE_REFUSED},
	{.status = IBV_WC_SUCCESS},
};

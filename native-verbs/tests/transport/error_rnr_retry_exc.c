/* SPDX-License-Identifier: Apache-2.0 */
/* No receive is posted and the retries are used up: RNR_RETRY_EXC_ERR; the responder stays as it is. */
#include "error_row.h"

static const struct error_row rows[] = {
	{.name = "SEND",
	 .requester = {.rnr_retry = 2},
	 .no_receives = true,
	 .opcode = IBV_WR_SEND,
	 FAILS_ALONE(IBV_WC_RNR_RETRY_EXC_ERR)},
	{.name = "WRITE with immediate data",
	 .requester = {.no_rnr_retry = true},
	 .no_receives = true,
	 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	 FAILS_ALONE(IBV_WC_RNR_RETRY_EXC_ERR)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* No receive is posted and the retries are used up: RNR_RETRY_EXC_ERR; the responder stays as it is. */
#include "error_row.h"

static void send_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_SEND;
}

static void write_with_imm(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
}

static const struct error_row rows[] = {
	{.name = "SEND",
	 .requester = {.rnr_retry = 2},
	 .no_receives = true,
	 .fill = send_it,
	 FAILS_ALONE(IBV_WC_RNR_RETRY_EXC_ERR)},
	{.name = "WRITE with immediate data",
	 .requester = {.no_rnr_retry = true},
	 .no_receives = true,
	 .fill = write_with_imm,
	 FAILS_ALONE(IBV_WC_RNR_RETRY_EXC_ERR)},
	{.status = IBV_WC_SUCCESS},
};

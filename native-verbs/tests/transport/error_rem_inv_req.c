/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that the responder's queue pair is not set up for: REM_INV_REQ_ERR, and QP_REQ_ERR at the responder. */
#include "error_row.h"

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
}

static void write_with_imm(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
}

static void read_nothing(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->num_sge = 0;
}

/* The region is no window that the responder's queue pair has bound. */
static void send_with_invalidate(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_SEND_WITH_INV;
	wr->invalidate_rkey = run->remote.mr->rkey;
}

#define REFUSED FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_REQ_ERR)

static const struct error_row rows[] = {
	{.name = "READ, not allowed",
	 .responder = {.access = IBV_ACCESS_REMOTE_WRITE}, .fill = read_it, REFUSED},
	{.name = "READ of nothing, not allowed",
	 .responder = {.access = IBV_ACCESS_REMOTE_WRITE}, .fill = read_nothing, REFUSED},
	{.name = "READ, no resources",
	 .responder = {.no_responder_resources = true}, .fill = read_it, REFUSED},
	{.name = "WRITE, not allowed",
	 .responder = {.access = IBV_ACCESS_REMOTE_READ}, REFUSED},
	{.name = "WRITE with immediate data, not allowed",
	 .responder = {.access = IBV_ACCESS_REMOTE_READ}, .fill = write_with_imm, REFUSED},
	{.name = "SEND_WITH_INV of a region",
	 .fill = send_with_invalidate,
	 FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* An operation that the responder's queue pair is not set up for: REM_INV_REQ_ERR, and QP_REQ_ERR at the responder. */
#include "error_row.h"

static void of_nothing(struct error_run *run)
{
	run->failing.num_sge = 0;
}

/* The region is no window that the responder's queue pair has bound. */
static void invalidate_a_region(struct error_run *run)
{
	run->failing.invalidate_rkey = run->pair.remote->mr->rkey;
}

#define WRITE FAILS_BOTH(IBV_WC_REM_INV_REQ_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_REQ_ERR)
#define READ .opcode = IBV_WR_RDMA_READ, WRITE
#define ALLOWS_WRITE .responder = {.access = IBV_ACCESS_REMOTE_WRITE}
#define ALLOWS_READ .responder = {.access = IBV_ACCESS_REMOTE_READ}

static const struct error_row rows[] = {
	{.name = "READ, not allowed", READ, ALLOWS_WRITE},
	{.name = "READ of nothing, not allowed", READ, ALLOWS_WRITE, .spoil = of_nothing},
	{.name = "READ, no resources", READ, .responder = {.no_responder_resources = true}},
	{.name = "WRITE, not allowed", WRITE, ALLOWS_READ},
	{.name = "WRITE with immediate data, not allowed", .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, WRITE, ALLOWS_READ},
	{.name = "SEND_WITH_INV of a region",
	 .opcode = IBV_WR_SEND_WITH_INV,
	 .spoil = invalidate_a_region,
	 FAILS_BOTH(IBV_WC_RETRY_EXC_ERR, IBV_WC_REM_INV_REQ_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the responder that is registered but not there any more: REM_OP_ERR, and QP_FATAL at the responder. */
#include "error_row.h"

/* A page behind the end of a file: registered while it was there. */
static void truncated(struct error_run *run)
{
	struct side *b = &run->pair.b;
	struct region *file = keep_region(b, create_file_region(b->pd, ROW_BYTES, ALL_REMOTE));

	CHECK(!ftruncate(file->fd, 0));
	run->failing.wr.rdma.remote_addr = (uintptr_t)file->bytes;
	run->failing.wr.rdma.rkey = file->mr->rkey;
}

#define FATAL .spoil = truncated, FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL)

static const struct error_row rows[] = {
	{.name = "READ", .opcode = IBV_WR_RDMA_READ, FATAL},
	/* Behind another READ, with which it may share a system call. */
	{.name = "READ behind a READ", .responder = {.access = ALL_REMOTE}, .opcode = IBV_WR_RDMA_READ, FATAL},
	{.name = "WRITE", FATAL},
	{.name = "WRITE with immediate data",
	 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
	 .spoil = truncated,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_ACCESS_ERR, NO_EVENT)},
	{.status = IBV_WC_SUCCESS},
};

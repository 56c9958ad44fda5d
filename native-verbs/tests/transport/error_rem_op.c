/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the responder that is registered but not there any more: REM_OP_ERR, and QP_FATAL at the responder. */
#include "error_row.h"

/* A page behind the end of a file: registered while it was there. */
static void truncate_a_file(struct error_run *run)
{
	char name[] = "/tmp/softdev-error-XXXXXX";
	int fd = mkstemp(name);
	void *bytes;

	CHECK(fd >= 0);
	CHECK(!unlink(name));
	CHECK(!ftruncate(fd, ROW_BYTES));
	bytes = mmap(NULL, ROW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(bytes != MAP_FAILED);
	run->extra = register_file(run->pair.b.pd, bytes, ROW_BYTES, fd, ALL_REMOTE);
	CHECK(run->extra);
	CHECK(!ftruncate(fd, 0));
	close(fd);
}

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.remote_addr = (uintptr_t)run->extra->addr;
	wr->wr.rdma.rkey = run->extra->rkey;
}

static void write_it(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->wr.rdma.remote_addr = (uintptr_t)run->extra->addr;
	wr->wr.rdma.rkey = run->extra->rkey;
}

static void write_with_imm(struct error_run *run, struct ibv_send_wr *wr)
{
	write_it(run, wr);
	wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
}

static const struct error_row rows[] = {
	{.name = "READ",
	 .prepare = truncate_a_file,
	 .fill = read_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL)},
	{.name = "WRITE",
	 .prepare = truncate_a_file,
	 .fill = write_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL)},
	{.name = "WRITE with immediate data",
	 .prepare = truncate_a_file,
	 .fill = write_with_imm,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_LOC_ACCESS_ERR, NO_EVENT)},
	/* Behind another READ, with which it may share a system call. */
	{.name = "READ behind a READ",
	 .responder = {.access = ALL_REMOTE},
	 .prepare = truncate_a_file,
	 .fill = read_it,
	 FAILS_BOTH(IBV_WC_REM_OP_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* A READ or WRITE of bytes that no region of the responder offers: REM_ACCESS_ERR, and QP_ACCESS_ERR there. */
#include "error_row.h"

static void read_with_wrong_rkey(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.rkey ^= 1;
}

/* What the responder refuses comes before where the bytes were to go. */
static void read_with_wrong_keys(struct error_run *run, struct ibv_send_wr *wr)
{
	read_with_wrong_rkey(run, wr);
	run->list[0].lkey ^= 1;
}

static void write_with_wrong_rkey(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->wr.rdma.rkey ^= 1;
}

static void read_with_lkey(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.rkey = run->remote.mr->lkey;
}

static void read_beyond_the_end(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.remote_addr += ROW_BYTES - 7;
}

static void write_before_the_start(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->wr.rdma.remote_addr -= 1;
}

static void read_around_the_end_of_memory(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.remote_addr = UINT64_MAX - 3;
}

/* Nobody may do anything with it from afar. */
static void register_narrowly(struct error_run *run)
{
	run->extra = softverbs_ibv_reg_mr(run->pair.b.pd, run->remote.bytes, ROW_BYTES, IBV_ACCESS_LOCAL_WRITE);
	CHECK(run->extra);
}

static void read_of_narrow_region(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.rkey = run->extra->rkey;
}

static void write_to_narrow_region(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->wr.rdma.rkey = run->extra->rkey;
}

static void read_of_another_domain(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_RDMA_READ;
	wr->wr.rdma.remote_addr = (uintptr_t)run->local.bytes;
	wr->wr.rdma.rkey = run->local.mr->rkey;
}

#define REFUSED FAILS_BOTH(IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR)

static const struct error_row rows[] = {
	{.name = "READ, wrong rkey",
	 .fill = read_with_wrong_rkey, REFUSED},
	{.name = "READ, wrong rkey and lkey",
	 .fill = read_with_wrong_keys, REFUSED},
	{.name = "WRITE, wrong rkey",
	 .fill = write_with_wrong_rkey, REFUSED},
	{.name = "READ, lkey in place of rkey",
	 .fill = read_with_lkey, REFUSED},
	{.name = "READ, beyond the end",
	 .fill = read_beyond_the_end, REFUSED},
	{.name = "WRITE, before the start",
	 .fill = write_before_the_start, REFUSED},
	{.name = "READ, around the end of memory",
	 .fill = read_around_the_end_of_memory, REFUSED},
	{.name = "READ, region without the right",
	 .prepare = register_narrowly, .fill = read_of_narrow_region, REFUSED},
	{.name = "WRITE, region without the right",
	 .prepare = register_narrowly, .fill = write_to_narrow_region, REFUSED},
	{.name = "READ, region of another PD",
	 .fill = read_of_another_domain, REFUSED},
	/* Behind another READ, with which it may share a system call. */
	{.name = "READ behind a READ, wrong rkey",
	 .responder = {.access = ALL_REMOTE}, .fill = read_with_wrong_rkey, REFUSED},
	{.name = "READ behind a READ, beyond the end",
	 .responder = {.access = ALL_REMOTE}, .fill = read_beyond_the_end, REFUSED},
	{.name = "READ behind a READ, region of another PD",
	 .responder = {.access = ALL_REMOTE}, .fill = read_of_another_domain, REFUSED},
	{.name = "READ behind a READ, region without the right",
	 .responder = {.access = ALL_REMOTE}, .prepare = register_narrowly, .fill = read_of_narrow_region, REFUSED},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* A list of the requester that its own regions do not cover: LOC_PROT_ERR, and the responder does not notice. */
#include "error_row.h"

static void send_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_WRITE;
}

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
}

static void wrong_lkey(struct error_run *run)
{
	run->list[0].lkey ^= 1;
}

static void rkey_in_place_of_lkey(struct error_run *run)
{
	run->list[0].lkey = run->local.mr->rkey;
}

static void out_of_bounds(struct error_run *run)
{
	run->list[0].addr += ROW_BYTES - 7;
}

static void region_of_another_domain(struct error_run *run)
{
	run->list[0] = sge_of(&run->remote, 0, 8);
}

static void sink_not_mapped(struct error_run *run)
{
	static uint8_t *page;

	if (!page)
		page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(!mprotect(page, 4096, PROT_READ | PROT_WRITE));
	run->extra = softverbs_ibv_reg_mr(run->pair.a.pd, page, 4096, IBV_ACCESS_LOCAL_WRITE);
	CHECK(run->extra);
	CHECK(!mprotect(page, 4096, PROT_NONE));
	run->list[0] = (struct ibv_sge){(uintptr_t)page, 8, run->extra->lkey};
}

static void sink_without_local_write(struct error_run *run)
{
	run->extra = softverbs_ibv_reg_mr(run->pair.a.pd, run->local.bytes, ROW_BYTES, 0);
	CHECK(run->extra);
	run->list[0].lkey = run->extra->lkey;
}

static const struct error_row rows[] = {
	{.name = "WRITE, wrong lkey",
	 .prepare = wrong_lkey, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, wrong lkey",
	 .prepare = wrong_lkey, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE, rkey in place of lkey",
	 .prepare = rkey_in_place_of_lkey, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, rkey in place of lkey",
	 .prepare = rkey_in_place_of_lkey, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE, out of bounds",
	 .prepare = out_of_bounds, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, out of bounds",
	 .prepare = out_of_bounds, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE, region of another PD",
	 .prepare = region_of_another_domain, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, region of another PD",
	 .prepare = region_of_another_domain, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, sink without LOCAL_WRITE",
	 .prepare = sink_without_local_write, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	/* Behind another READ, with which it may share a system call. */
	{.name = "READ behind a READ, wrong lkey",
	 .responder = {.access = ALL_REMOTE}, .prepare = wrong_lkey, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ behind a READ, out of bounds",
	 .responder = {.access = ALL_REMOTE},
	 .prepare = out_of_bounds,
	 .fill = read_it,
	 FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ behind a READ, sink without LOCAL_WRITE",
	 .responder = {.access = ALL_REMOTE},
	 .prepare = sink_without_local_write,
	 .fill = read_it,
	 FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ behind a READ, memory not mapped",
	 .responder = {.access = ALL_REMOTE},
	 .prepare = sink_not_mapped,
	 .fill = read_it,
	 FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "READ, memory not mapped",
	 .prepare = sink_not_mapped, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE, memory not mapped",
	 .prepare = sink_not_mapped, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* A READ or WRITE of bytes that no region of the responder offers: REM_ACCESS_ERR, and QP_ACCESS_ERR there. */
#include "error_row.h"

static void lkey_in_place_of_rkey(struct error_run *run)
{
	run->failing.wr.rdma.rkey = run->pair.remote->mr->lkey;
}

static void around_the_end_of_memory(struct error_run *run)
{
	run->failing.wr.rdma.remote_addr = UINT64_MAX - 3;
}

static void aim_at(struct error_run *run, const struct region *region)
{
	run->failing.wr.rdma.remote_addr = (uintptr_t)region->bytes;
	run->failing.wr.rdma.rkey = region->mr->rkey;
}

static void not_readable(struct error_run *run)
{
	aim_at(run, add_region(&run->pair.b, ROW_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

static void not_writable(struct error_run *run)
{
	aim_at(run, add_region(&run->pair.b, ROW_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ));
}

static void of_another_context(struct error_run *run)
{
	aim_at(run, run->pair.local);
}

static void of_another_domain(struct error_run *run)
{
	struct side *b = &run->pair.b;

	aim_at(run, keep_region(b, create_region(other_domain(b), ROW_BYTES, ALL_REMOTE)));
}

/* It has been read before, so that the requester may remember it. */
static void deregistered(struct error_run *run)
{
	struct region *gone = add_region(&run->pair.b, ROW_BYTES, ALL_REMOTE);

	aim_at(run, gone);
	read_and_expect(&run->pair.a, 9, run->pair.local, 8, (uintptr_t)gone->bytes, gone->mr->rkey, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(gone->mr), 0);
	gone->mr = NULL;
}

#define WRITE FAILS_BOTH(IBV_WC_REM_ACCESS_ERR, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR)
#define READ .opcode = IBV_WR_RDMA_READ, WRITE
/* Behind another READ, with which it may share a system call. */
#define SECOND_READ READ, .responder = {.access = ALL_REMOTE}

static const struct error_row rows[] = {
	{.name = "READ, wrong rkey", READ, .wrong_rkey = true},
	{.name = "READ behind a READ, wrong rkey", SECOND_READ, .wrong_rkey = true},
	/* What the responder refuses comes before where the bytes were to go. */
	{.name = "READ, wrong rkey and lkey", READ, .wrong_rkey = true, .wrong_lkey = true},
	{.name = "WRITE, wrong rkey", WRITE, .wrong_rkey = true},
	{.name = "READ, lkey in place of rkey", READ, .spoil = lkey_in_place_of_rkey},
	{.name = "READ, beyond the end", READ, .remote_offset = ROW_BYTES - 7},
	{.name = "READ behind a READ, beyond the end", SECOND_READ, .remote_offset = ROW_BYTES - 7},
	{.name = "READ, before the start", READ, .remote_offset = -1},
	{.name = "WRITE, before the start", WRITE, .remote_offset = -1},
	{.name = "READ, around the end of memory", READ, .spoil = around_the_end_of_memory},
	{.name = "READ, region without the right", READ, .spoil = not_readable},
	{.name = "READ behind a READ, region without the right", SECOND_READ, .spoil = not_readable},
	{.name = "WRITE, region without the right", WRITE, .spoil = not_writable},
	{.name = "READ, region of another context", READ, .spoil = of_another_context},
	{.name = "READ behind a READ, region of another context", SECOND_READ, .spoil = of_another_context},
	{.name = "READ, region of another PD", READ, .spoil = of_another_domain},
	{.name = "READ, region deregistered", READ, .spoil = deregistered},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/* A bind or invalidation that is wrong: MW_BIND_ERR, which is the poster's alone. */
#include "error_row.h"

static void allocate(struct error_run *run)
{
	run->window = ibv_alloc_mw(run->pair.a.pd, IBV_MW_TYPE_2);
	CHECK(run->window);
}

/* The region does not allow windows. */
static void bind_it(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_BIND_MW;
	wr->bind_mw.mw = run->window;
	wr->bind_mw.rkey = ibv_inc_rkey(run->window->rkey);
	wr->bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = run->local.mr,
							  .addr = (uintptr_t)run->local.bytes,
							  .length = 64,
							  .mw_access_flags = IBV_ACCESS_REMOTE_READ};
}

static void invalidate_a_region(struct error_run *run, struct ibv_send_wr *wr)
{
	wr->opcode = IBV_WR_LOCAL_INV;
	wr->invalidate_rkey = run->local.mr->rkey;
}

static const struct error_row rows[] = {
	{.name = "bind",
	 .prepare = allocate, .fill = bind_it, FAILS_ALONE(IBV_WC_MW_BIND_ERR)},
	{.name = "local invalidation",
	 .fill = invalidate_a_region, FAILS_ALONE(IBV_WC_MW_BIND_ERR)},
	{.status = IBV_WC_SUCCESS},
};

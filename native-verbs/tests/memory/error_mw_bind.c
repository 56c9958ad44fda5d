/* SPDX-License-Identifier: Apache-2.0 */
/* A bind or invalidation that is wrong: MW_BIND_ERR, which is the poster's alone. */
#include "error_row.h"

/* The region does not allow windows. */
static void bind_a_window(struct error_run *run)
{
	run->window = ibv_alloc_mw(run->pair.a.pd, IBV_MW_TYPE_2);
	CHECK(run->window);
	run->failing.bind_mw.mw = run->window;
	run->failing.bind_mw.rkey = ibv_inc_rkey(run->window->rkey);
	run->failing.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = run->pair.local->mr,
								   .addr = (uintptr_t)run->pair.local->bytes,
								   .length = 64,
								   .mw_access_flags = IBV_ACCESS_REMOTE_READ};
}

static void invalidate_a_region(struct error_run *run)
{
	run->failing.invalidate_rkey = run->pair.local->mr->rkey;
}

static const struct error_row rows[] = {
	{.name = "bind", .opcode = IBV_WR_BIND_MW, .spoil = bind_a_window, FAILS_ALONE(IBV_WC_MW_BIND_ERR)},
	{.name = "local invalidation",
	 .opcode = IBV_WR_LOCAL_INV, .spoil = invalidate_a_region, FAILS_ALONE(IBV_WC_MW_BIND_ERR)},
	{.status = IBV_WC_SUCCESS},
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the requester that turns out to be gone while requests before it are under way: those complete, then it fails
 * with its cause, and the rest is flushed. Of a message that was sent by half nothing is received.
 */
#include "error_row.h"

enum { LARGE_BYTES = 4 << 20 };

/* A large region whose last page is not there. */
static void register_with_a_hole(struct error_run *run)
{
	uint8_t *bytes = mmap(NULL, LARGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(bytes != MAP_FAILED);
	run->extra = softverbs_ibv_reg_mr(run->pair.a.pd, bytes, LARGE_BYTES, IBV_ACCESS_LOCAL_WRITE);
	CHECK(run->extra);
	CHECK(!mprotect(bytes + LARGE_BYTES - 4096, 4096, PROT_NONE));
}

static void send_the_hole(struct error_run *run, struct ibv_send_wr *wr)
{
	run->list[0] = (struct ibv_sge){(uintptr_t)run->extra->addr + LARGE_BYTES - 8, 8, run->extra->lkey};
	wr->opcode = IBV_WR_SEND;
}

/* Its first megabytes are on their way when the rest is found missing. */
static void write_up_to_the_hole(struct error_run *run, struct ibv_send_wr *wr)
{
	static uint8_t sink[LARGE_BYTES];

	run->far = softverbs_ibv_reg_mr(run->pair.b.pd, sink, sizeof(sink), ALL_REMOTE);
	CHECK(run->far);
	run->list[0] = (struct ibv_sge){(uintptr_t)run->extra->addr, LARGE_BYTES, run->extra->lkey};
	wr->wr.rdma.remote_addr = (uintptr_t)sink;
	wr->wr.rdma.rkey = run->far->rkey;
}

static const struct error_row rows[] = {
	{.name = "SEND of memory that is gone",
	 .prepare = register_with_a_hole, .fill = send_the_hole, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.name = "WRITE of memory whose end is gone",
	 .prepare = register_with_a_hole, .fill = write_up_to_the_hole, FAILS_ALONE(IBV_WC_LOC_PROT_ERR)},
	{.status = IBV_WC_SUCCESS},
};

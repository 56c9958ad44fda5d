/* SPDX-License-Identifier: Apache-2.0 */
/* A message longer than the device can send: LOC_LEN_ERR at the requester, nothing at the responder. */
#include "error_row.h"

enum { HUGE_BYTES = 0x30000000 };

static void prepare(struct error_run *run)
{
	static uint8_t *bytes;

	if (!bytes)
		bytes = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(bytes != MAP_FAILED);
	run->extra = softverbs_ibv_reg_mr(run->pair.a.pd, bytes, HUGE_BYTES, IBV_ACCESS_LOCAL_WRITE);
	CHECK(run->extra);
	run->list[0] = run->list[1] = (struct ibv_sge){(uintptr_t)bytes, HUGE_BYTES, run->extra->lkey};
}

static void send_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_SEND;
	wr->num_sge = 2;
}

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->num_sge = 2;
}

static const struct error_row rows[] = {
	{.prepare = prepare, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.prepare = prepare, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.status = IBV_WC_SUCCESS},
};

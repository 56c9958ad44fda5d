/* SPDX-License-Identifier: Apache-2.0 */
/* A message longer than the device can send: LOC_LEN_ERR at the requester, nothing at the responder. */
#include "error_row.h"

/* A quarter and a byte: the list names it four times, for a device may have to find memory for all of a region. */
static void prepare(struct error_run *run)
{
	static uint8_t *bytes;
	struct ibv_port_attr port;
	size_t length;

	CHECK_EQUAL(softverbs_ibv_query_port(run->pair.a.context, 1, (struct _compat_ibv_port_attr *)&port), 0);
	length = port.max_msg_sz / SGES + 1;
	if (!bytes)
		bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(bytes != MAP_FAILED);
	run->extra = softverbs_ibv_reg_mr(run->pair.a.pd, bytes, length, IBV_ACCESS_LOCAL_WRITE);
	CHECK(run->extra);
	for (int i = 0; i < SGES; i++)
		run->list[i] = (struct ibv_sge){(uintptr_t)bytes, length, run->extra->lkey};
}

static void send_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_SEND;
	wr->num_sge = SGES;
}

static void read_it(struct error_run *run, struct ibv_send_wr *wr)
{
	(void)run;
	wr->opcode = IBV_WR_RDMA_READ;
	wr->num_sge = SGES;
}

static const struct error_row rows[] = {
	{.name = "SEND",
	 .prepare = prepare, .fill = send_it, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.name = "READ",
	 .prepare = prepare, .fill = read_it, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.status = IBV_WC_SUCCESS},
};

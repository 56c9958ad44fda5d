/* SPDX-License-Identifier: Apache-2.0 */
/* A message longer than the device can send: LOC_LEN_ERR at the requester, nothing at the responder. */
#include "error_row.h"

/* A quarter and a byte: the list names it four times, for a device may have to find memory for all of a region. */
static void name_too_much(struct error_run *run)
{
	struct ibv_port_attr port;
	struct region *quarter;

	CHECK_EQUAL(softverbs_ibv_query_port(run->pair.a.context, 1, (struct _compat_ibv_port_attr *)&port), 0);
	quarter = add_region(&run->pair.a, port.max_msg_sz / SGES + 1, IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < SGES; i++)
		run->list[i] = sge_of(quarter, 0, quarter->length);
	run->failing.num_sge = SGES;
}

static const struct error_row rows[] = {
	{.name = "SEND", .opcode = IBV_WR_SEND, .spoil = name_too_much, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.name = "READ", .opcode = IBV_WR_RDMA_READ, .spoil = name_too_much, FAILS_ALONE(IBV_WC_LOC_LEN_ERR)},
	{.status = IBV_WC_SUCCESS},
};

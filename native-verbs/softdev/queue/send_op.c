/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/send_op.h"

#include "queue/wire.h"

#include <stddef.h>

enum { RC = 1 << IBV_QPT_RC, UC = 1 << IBV_QPT_UC, UD = 1 << IBV_QPT_UD };
enum { ATOMIC = SEND_OP_RESPONSE | SEND_OP_ATOMIC | SEND_OP_OPERANDS };

static const struct send_op send_ops[] = {
	[IBV_WR_RDMA_WRITE] = {RC | UC, WIRE_WRITE, 0, SEND_OP_INLINE, IBV_WC_RDMA_WRITE},
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {RC | UC, WIRE_WRITE, WIRE_FLAG_IMM, SEND_OP_INLINE, IBV_WC_RDMA_WRITE},
	[IBV_WR_SEND] = {RC | UC | UD, WIRE_SEND, 0, SEND_OP_INLINE, IBV_WC_SEND},
	[IBV_WR_SEND_WITH_IMM] = {RC | UC | UD, WIRE_SEND, WIRE_FLAG_IMM, SEND_OP_INLINE, IBV_WC_SEND},
	[IBV_WR_RDMA_READ] = {RC, WIRE_READ, 0, SEND_OP_RESPONSE, IBV_WC_RDMA_READ},
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {RC, WIRE_COMPARE_SWAP, 0, ATOMIC, IBV_WC_COMP_SWAP},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {RC, WIRE_FETCH_ADD, 0, ATOMIC, IBV_WC_FETCH_ADD},
	[IBV_WR_ATOMIC_WRITE] = {RC, WIRE_ATOMIC_WRITE, 0, SEND_OP_INLINE | SEND_OP_ATOMIC, IBV_WC_ATOMIC_WRITE},
	[IBV_WR_SEND_WITH_INV] = {RC, WIRE_SEND, WIRE_FLAG_INVALIDATE, SEND_OP_INLINE, IBV_WC_SEND},
	[IBV_WR_LOCAL_INV] = {RC | UC, 0, 0, SEND_OP_LOCAL | SEND_OP_NO_LIST, IBV_WC_LOCAL_INV},
	[IBV_WR_BIND_MW] = {RC | UC, 0, 0, SEND_OP_LOCAL | SEND_OP_NO_LIST | SEND_OP_OPERANDS, IBV_WC_BIND_MW},
};

const struct send_op *send_op_find(enum ibv_wr_opcode opcode)
{
	bool known = (unsigned int)opcode < sizeof(send_ops) / sizeof(send_ops[0]) && send_ops[opcode].qp_types;

	return known ? &send_ops[opcode] : NULL;
}

bool send_op_suits(const struct send_op *op, enum ibv_qp_type type)
{
	return op && type <= IBV_QPT_UD && (op->qp_types & 1u << type);
}

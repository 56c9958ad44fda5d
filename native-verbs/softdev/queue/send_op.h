/* SPDX-License-Identifier: Apache-2.0 */
/* The properties of each send opcode: the queue pairs that support it, its frame and its completion. */
#ifndef SOFTDEV_SEND_OP_H
#define SOFTDEV_SEND_OP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum send_op_flags {
	SEND_OP_INLINE = 1,	  /* may carry IBV_SEND_INLINE */
	SEND_OP_RESPONSE = 2,	  /* READ or atomic: the answer is written to the list; counts for max_rd_atomic */
	SEND_OP_ATOMIC = 4,	  /* operates on eight aligned bytes at the peer */
	SEND_OP_LOCAL = 8,	  /* sends no frame: completes in its turn */
	SEND_OP_NO_LIST = 16,	  /* has no scatter/gather list */
	SEND_OP_OPERANDS = 32,	  /* stores operands in the room for inline data */
};

struct send_op {
	uint8_t qp_types; /* bits 1 << IBV_QPT_* */
	uint8_t wire;	  /* enum wire_op */
	uint8_t wire_flags;
	uint8_t flags;
	enum ibv_wc_opcode completion;
};

/* Returns NULL if the device does not know the opcode. */
const struct send_op *send_op_find(enum ibv_wr_opcode opcode);
/* Returns true if a queue pair of this type supports the operation. */
bool send_op_suits(const struct send_op *op, enum ibv_qp_type type);

#endif

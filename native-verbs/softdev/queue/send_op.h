/* SPDX-License-Identifier: Apache-2.0 */
/* What each opcode of a send work request means: who may post it, how it travels and how it completes. */
#ifndef SOFTDEV_SEND_OP_H
#define SOFTDEV_SEND_OP_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

enum send_op_flags {
	SEND_OP_INLINE = 1,	  /* may carry IBV_SEND_INLINE */
	SEND_OP_RESPONSE = 2,	  /* READ or atomic: an answer is written to its list; max_rd_atomic counts it */
	SEND_OP_ATOMIC = 4,	  /* eight aligned bytes at the peer */
	SEND_OP_LOCAL = 8,	  /* no frame: done when its turn comes */
	SEND_OP_NO_LIST = 16,	  /* has no scatter/gather list */
	SEND_OP_OPERANDS = 32,	  /* keeps them where others have inline data */
};

struct send_op {
	uint8_t qp_types; /* 1 << IBV_QPT_* */
	uint8_t wire;	  /* enum wire_op */
	uint8_t wire_flags;
	uint8_t flags;
	enum ibv_wc_opcode completion;
};

/* NULL if the device does not know it. */
const struct send_op *send_op_find(enum ibv_wr_opcode opcode);
/* Can a queue pair of this type carry it? */
bool send_op_suits(const struct send_op *op, enum ibv_qp_type type);

#endif

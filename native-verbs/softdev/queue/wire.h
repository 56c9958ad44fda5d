/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a queue pair's link. A link serves one direction: the connecting end is the requester, the accepting
 * end the responder. Two QPs that send both ways have two links.
 *
 *   requester -> responder                        answer
 *   QP_OPEN    payload struct qp_open             QP_OPEN_REPLY, struct qp_open_reply [+ table descriptor]
 *   SEND       payload, imm                       ACK | RNR_NAK | NAK
 *   WRITE      payload, remote_addr, rkey, imm    ACK | RNR_NAK | NAK
 *   READ       remote_addr, rkey, total           READ_DATA ... (arg = offset, length <= WIRE_CHUNK), then ACK | NAK
 *   COMPARE_SWAP, FETCH_ADD  remote_addr, rkey,   READ_DATA of eight bytes, then ACK | NAK
 *              payload struct atomic_operands
 *   ATOMIC_WRITE payload of eight bytes, remote_addr, rkey   ACK | NAK
 *   FILE_REQUEST payload struct wire_key ...      FILE_REPLY, the same keys up to the first wrong one [+ descriptors]
 *                                                 FILE_REVOKE (unasked): some generation of the table is over
 *
 * Requests carry consecutive `seq`, starting at the PSN that ibv_modify_qp() gave both ends. The responder executes
 * them strictly in that order and ignores any other frame, so that requests after an RNR_NAK are dropped until they are
 * sent again. `status` is an IBV_WC_ number in NAK, the timer code in RNR_NAK, and an errno in QP_OPEN_REPLY.
 */
#ifndef SOFTDEV_WIRE_H
#define SOFTDEV_WIRE_H

#include "link/link.h"

#include <infiniband/verbs.h>

enum wire_op {
	WIRE_QP_OPEN = FRAME_OP_USER,
	WIRE_QP_OPEN_REPLY,
	WIRE_SEND,
	WIRE_WRITE,
	WIRE_READ,
	WIRE_READ_DATA,
	WIRE_ACK,
	WIRE_RNR_NAK,
	WIRE_NAK,
	WIRE_FILE_REQUEST,
	WIRE_FILE_REPLY,
	WIRE_FILE_REVOKE,
	WIRE_COMPARE_SWAP,
	WIRE_FETCH_ADD,
	WIRE_ATOMIC_WRITE,
};

enum {
	WIRE_FLAG_IMM = 1,
	WIRE_FLAG_SOLICITED = 2,
	WIRE_FLAG_INVALIDATE = 4, /* SEND only: imm is the key of the window to invalidate */
	WIRE_FLAGS = WIRE_FLAG_IMM | WIRE_FLAG_SOLICITED | WIRE_FLAG_INVALIDATE, /* others are refused */
};

enum { WIRE_CHUNK = 1 << 20, WIRE_REQUESTER_BYTES = 16, WIRE_KEYS = LINK_MAX_FDS };

struct qp_open {
	uint32_t source_qpn, destination_qpn;
	union ibv_gid source_gid, destination_gid;
	uint32_t first_seq;
	uint32_t qp_type; /* enum ibv_qp_type, which must match at both ends */
	uint8_t requester[WIRE_REQUESTER_BYTES]; /* told to this queue pair's peer alone; its later links repeat it */
};

struct qp_open_reply {
	uint32_t qp_slot;
	uint32_t reserved;
	uint64_t qp_generation;
	uint64_t cookie_address; /* address of the boot nonce, for the process_vm_readv probe */
};

/* A key in a FILE_REQUEST, and what its owner says about it in the FILE_REPLY. At most WIRE_KEYS are in one frame. */
struct wire_key {
	uint64_t generation;
	uint32_t rkey;
	uint16_t status;   /* 0: the key is right; otherwise EACCES or ESTALE */
	uint16_t has_file; /* the next of the frame's descriptors is its file */
};

struct atomic_operands {
	uint64_t compare_add, swap;
};

#endif

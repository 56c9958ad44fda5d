/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomics. The responder executes them with the processor's own instructions, so they are atomic with respect to every
 * other access to these bytes. The previous value travels back like the bytes of a READ.
 */
#include "memory/probe.h"
#include "process/counters.h"
#include "transport/responder_internal.h"

#include <string.h>

static uint64_t execute(uint64_t *target, uint8_t op, const struct atomic_operands *operands)
{
	uint64_t before = operands->compare_add;

	if (op == WIRE_ATOMIC_WRITE)
		return __atomic_exchange_n(target, operands->compare_add, __ATOMIC_SEQ_CST);
	if (op == WIRE_FETCH_ADD)
		return __atomic_fetch_add(target, operands->compare_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(target, &before, operands->swap, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return before;
}

/* Called with qp->lock held. */
static enum ibv_wc_status try_execute(const struct softdev_qp *qp, const struct frame *frame,
				      const void *payload, uint64_t *before)
{
	bool is_write = frame->op == WIRE_ATOMIC_WRITE;
	unsigned int right = is_write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_ATOMIC;
	struct atomic_operands operands = {0};
	size_t length = is_write ? sizeof(operands.compare_add) : sizeof(operands);
	enum ibv_wc_status status = IBV_WC_REM_OP_ERR;
	struct softdev_mr *mr;
	void *target;

	if ((!is_write && !qp->attr.max_dest_rd_atomic) || !(qp->attr.qp_access_flags & right) ||
	    frame->length != length || (frame->flags & ~WIRE_FLAGS) || frame->remote_addr % sizeof(uint64_t))
		return IBV_WC_REM_INV_REQ_ERR;
	if (mr_acquire_for(qp->pd, qp_generation(qp), frame->rkey, frame->remote_addr, sizeof(uint64_t), right, &mr))
		return IBV_WC_REM_ACCESS_ERR;
	memcpy(&operands, payload, length);
	target = mr_pointer(mr, frame->remote_addr);
	if ((uintptr_t)target % sizeof(uint64_t)) {
		/* The address was checked for alignment relative to the region only. */
		status = IBV_WC_REM_INV_REQ_ERR;
	} else if (probe_writable(target)) {
		*before = execute(target, frame->op, &operands);
		status = IBV_WC_SUCCESS;
	}
	mr_release(mr);
	return status;
}

void responder_atomic(struct softdev_qp *qp, const struct frame *frame, const void *payload)
{
	struct frame data = {.op = WIRE_READ_DATA, .seq = frame->seq, .length = sizeof(uint64_t),
			     .total = sizeof(uint64_t)};
	struct frame ack = {.op = WIRE_ACK, .seq = frame->seq};
	enum ibv_wc_status status;
	uint64_t before = 0;

	pthread_mutex_lock(&qp->lock);
	if (!responder_expects(qp, frame)) {
		pthread_mutex_unlock(&qp->lock);
		return;
	}
	status = try_execute(qp, frame, payload, &before);
	pthread_mutex_unlock(&qp->lock);
	if (status != IBV_WC_SUCCESS) {
		responder_refuse(qp, frame->seq, status, IBV_WC_SUCCESS);
		return;
	}
	qp->responder.expected_seq++;
	if (frame->op != WIRE_ATOMIC_WRITE)
		link_send(qp->responder.link, &data, &before, NULL, 0);
	link_send(qp->responder.link, &ack, NULL, NULL, 0);
	link_flush(qp->responder.link);
}

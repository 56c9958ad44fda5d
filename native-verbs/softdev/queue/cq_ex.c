/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended completion queues. start_poll and next_poll move the completion out of the ring into a copy, so that
 * cq->lock is free while the application reads it. The application may post at that time, and a post can complete at
 * once.
 */
#include "queue/cq.h"

#include "device/device.h"
#include "memory/mr.h"

#include <errno.h>

enum {
	TIME_FLAGS = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK,
	SUPPORTED_WC_FLAGS = IBV_WC_STANDARD_FLAGS | TIME_FLAGS,
	SUPPORTED_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	SUPPORTED_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD,
};

static struct softdev_cq *of(struct ibv_cq_ex *ex)
{
	return container_of_(ex, struct softdev_cq, ex);
}

static int advance(struct softdev_cq *cq)
{
	if (!cq_take(cq, &cq->current))
		return ENOENT;
	cq->ex.status = cq->current.wc.status;
	cq->ex.wr_id = cq->current.wc.wr_id;
	return 0;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct softdev_cq *cq = of(ex);

	if (!cq->single_threaded)
		pthread_mutex_unlock(&cq->poll_lock);
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct softdev_cq *cq = of(ex);
	int error;

	if (is_inherited(cq->base.context))
		return EIO;
	if (attr->comp_mask)
		return EINVAL;
	if (!cq->single_threaded)
		pthread_mutex_lock(&cq->poll_lock);
	error = advance(cq);
	if (error)
		end_poll(ex);
	return error;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	return advance(of(ex));
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.vendor_err;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.wc_flags;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.byte_len;
}

/* Also serves ibv_wc_read_invalidated_rkey(), since both values share their place in ibv_wc. */
static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.src_qp;
}

static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wc.dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *ex)
{
	return of(ex)->current.device_ns;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *ex)
{
	return of(ex)->current.wall_ns;
}

/* Functions that were not requested stay NULL, as on hardware, so that a program that calls one fails here already. */
static void set_functions(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_vendor_err = read_vendor_err;
	ex->read_wc_flags = read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = read_completion_ts;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ex->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

struct ibv_cq_ex *cq_create_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	struct softdev_cq *cq;
	int error = 0;

	if (attr->comp_mask & ~(uint32_t)SUPPORTED_MASK)
		error = EINVAL;
	else if (attr->wc_flags & ~(uint64_t)SUPPORTED_WC_FLAGS || flags & ~(uint32_t)SUPPORTED_FLAGS)
		error = EOPNOTSUPP;
	else if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD && !pd_is_parent_domain(attr->parent_domain))
		error = EINVAL;
	if (error) {
		errno = error;
		return NULL;
	}
	cq = cq_create(context, attr);
	if (!cq)
		return NULL;
	cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->ignores_overrun = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq->takes_time = attr->wc_flags & TIME_FLAGS;
	set_functions(&cq->ex, attr->wc_flags);
	return &cq->ex;
}

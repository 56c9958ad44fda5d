/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended completion queues. start_poll and next_poll move the completion out of the ring into a copy, so that
 * cq->lock is free while the application reads it. The application may post at that time, and a post can complete at
 * once.
 */
#include "queue/cq.h"

#include "device/device.h"

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

/*
 * The functions that read a part of the current completion, and the flags that request them; every queue has those with
 * 0. read_imm_data() also serves ibv_wc_read_invalidated_rkey(), since both values share their place in ibv_wc.
 */
#define READERS(reader)                                                                                                \
	reader(read_opcode, enum ibv_wc_opcode, wc.opcode, 0)                                                          \
	reader(read_vendor_err, uint32_t, wc.vendor_err, 0)                                                            \
	reader(read_wc_flags, unsigned int, wc.wc_flags, 0)                                                            \
	reader(read_byte_len, uint32_t, wc.byte_len, IBV_WC_EX_WITH_BYTE_LEN)                                          \
	reader(read_imm_data, __be32, wc.imm_data, IBV_WC_EX_WITH_IMM)                                                 \
	reader(read_qp_num, uint32_t, wc.qp_num, IBV_WC_EX_WITH_QP_NUM)                                                \
	reader(read_src_qp, uint32_t, wc.src_qp, IBV_WC_EX_WITH_SRC_QP)                                                \
	reader(read_slid, uint32_t, wc.slid, IBV_WC_EX_WITH_SLID)                                                      \
	reader(read_sl, uint8_t, wc.sl, IBV_WC_EX_WITH_SL)                                                             \
	reader(read_dlid_path_bits, uint8_t, wc.dlid_path_bits, IBV_WC_EX_WITH_DLID_PATH_BITS)                         \
	reader(read_completion_ts, uint64_t, device_ns, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)                           \
	reader(read_completion_wallclock_ns, uint64_t, wall_ns, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

#define DEFINE_READER(name, type, field, flag)                                                                         \
	static type name(struct ibv_cq_ex *ex)                                                                         \
	{                                                                                                              \
		return of(ex)->current.field;                                                                          \
	}
READERS(DEFINE_READER)

/* Functions that were not requested stay NULL, as on hardware, so that a program that calls one fails here already. */
static void set_functions(struct ibv_cq_ex *ex, uint64_t wc_flags)
{
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
#define SET_READER(name, type, field, flag)                                                                            \
	if ((wc_flags & (flag)) == (flag))                                                                             \
		ex->name = name;
	READERS(SET_READER)
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
	if (error)
		return null_with(error);
	cq = cq_create(context, attr);
	if (!cq)
		return NULL;
	cq->single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
	cq->ignores_overrun = flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq->takes_time = attr->wc_flags & TIME_FLAGS;
	set_functions(&cq->ex, attr->wc_flags);
	return &cq->ex;
}

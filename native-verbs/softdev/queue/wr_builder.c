/* SPDX-License-Identifier: Apache-2.0 */
#include "device/device.h"
#include "queue/qp.h"
#include "queue/send_op.h"
#include "queue/wr_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wr_builder {
	pthread_mutex_t lock; /* held from wr_start to wr_complete or wr_abort; qp->lock nests in it */
	int error;	      /* the first error; later calls have no effect */
	uint32_t count, capacity;
	struct ibv_send_wr *current; /* an entry of `requests`, or `ignored` */
	struct ibv_send_wr *requests, ignored;
	struct ibv_sge *lists; /* max_send_sge + 1 (for inline data) entries for each request */
	uint8_t *bytes;	       /* max_inline_data bytes for each request */
};

static struct softdev_qp *qp_of(struct ibv_qp_ex *ex)
{
	return container_of_(ex, struct softdev_qp, ex);
}

static void fail(struct wr_builder *builder, int error)
{
	if (!builder->error)
		builder->error = error;
	builder->current = &builder->ignored;
}

static struct ibv_send_wr *begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct wr_builder *builder = qp_of(ex)->builder;

	if (builder->count == builder->capacity)
		fail(builder, ENOMEM);
	if (builder->error)
		return &builder->ignored;
	builder->current = &builder->requests[builder->count++];
	*builder->current = (struct ibv_send_wr){
		.wr_id = ex->wr_id,
		.opcode = opcode,
		.send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE, /* set by the inline setters instead */
	};
	return builder->current;
}

static void wr_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
		    __be32 imm)
{
	struct ibv_send_wr *wr = begin(ex, opcode);

	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = remote_addr;
	wr->imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	wr_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm);
}

static void wr_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr,
		      uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = begin(ex, opcode);

	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	wr_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	wr_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	begin(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin(ex, IBV_WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin(ex, IBV_WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = begin(ex, IBV_WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct ibv_send_wr *wr = qp_of(ex)->builder->current;

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = remote_qpn;
	wr->wr.ud.remote_qkey = remote_qkey;
}

/* Stores the index of the current request. Returns false if there is none or it already has data. */
static bool takes_data(struct wr_builder *builder, size_t *index)
{
	if (builder->error)
		return false;
	if (!builder->count || builder->current->sg_list || builder->current->num_sge) {
		fail(builder, EINVAL);
		return false;
	}
	*index = builder->count - 1;
	return true;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *list)
{
	struct softdev_qp *qp = qp_of(ex);
	struct wr_builder *builder = qp->builder;
	size_t index;

	if (!takes_data(builder, &index))
		return;
	if (num_sge > qp->cap.max_send_sge) {
		fail(builder, EINVAL);
		return;
	}
	builder->current->sg_list = builder->lists + index * (qp->cap.max_send_sge + 1);
	builder->current->num_sge = num_sge;
	if (num_sge)
		memcpy(builder->current->sg_list, list, num_sge * sizeof(*list));
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf, const struct ibv_data_buf *list)
{
	struct softdev_qp *qp = qp_of(ex);
	struct wr_builder *builder = qp->builder;
	size_t index, length = 0, room = qp->cap.max_inline_data;
	uint8_t *bytes;

	if (!takes_data(builder, &index))
		return;
	bytes = builder->bytes + index * room;
	for (size_t i = 0; i < num_buf; i++) {
		if (list[i].length > room - length) {
			fail(builder, EINVAL);
			return;
		}
		if (list[i].length)
			memcpy(bytes + length, list[i].addr, list[i].length);
		length += list[i].length;
	}
	builder->current->send_flags |= IBV_SEND_INLINE;
	builder->current->sg_list = builder->lists + index * (qp->cap.max_send_sge + 1);
	builder->current->sg_list[0] = (struct ibv_sge){.addr = (uintptr_t)bytes, .length = length};
	builder->current->num_sge = 1;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf buffer = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buffer);
}

static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *data)
{
	wr_rdma(ex, IBV_WR_ATOMIC_WRITE, rkey, remote_addr, 0);
	wr_set_inline_data(ex, (void *)(uintptr_t)data, sizeof(uint64_t));
}

static void wr_start(struct ibv_qp_ex *ex)
{
	struct wr_builder *builder = qp_of(ex)->builder;

	if (!is_inherited(ex->qp_base.context)) /* otherwise a thread of the parent may hold the lock for ever */
		pthread_mutex_lock(&builder->lock);
	builder->error = 0;
	builder->count = 0;
	builder->current = &builder->ignored;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	if (!is_inherited(ex->qp_base.context))
		pthread_mutex_unlock(&qp_of(ex)->builder->lock);
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct wr_builder *builder = qp_of(ex)->builder;
	int error = builder->error;

	for (uint32_t i = 1; i < builder->count; i++)
		builder->requests[i - 1].next = &builder->requests[i];
	if (!error && builder->count)
		error = sq_post_all(qp_of(ex), builder->requests);
	wr_abort(ex); /* nothing is left of the batch */
	return error;
}

/* One bit of send_ops_flags, the opcode that it stands for, and the field of its function. */
#define SEND_OPS(row)                                                                                \
	row(IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE, wr_rdma_write)                             \
	row(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM, wr_rdma_write_imm)       \
	row(IBV_QP_EX_WITH_SEND, IBV_WR_SEND, wr_send)                                               \
	row(IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM, wr_send_imm)                         \
	row(IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ, wr_rdma_read)                                \
	row(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp)         \
	row(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add)   \
	row(IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV, wr_local_inv)                                \
	row(IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW, wr_bind_mw)                                      \
	row(IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV, wr_send_inv)                         \
	row(IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE, wr_atomic_write)

bool wr_builder_supports(enum ibv_qp_type type, uint64_t send_ops)
{
#define CHECK_ROW(bit, opcode, function)                                                             \
	if ((send_ops & (bit)) && !send_op_suits(send_op_find(opcode), type))                        \
		return false;                                                                        \
	send_ops &= ~(uint64_t)(bit);
	SEND_OPS(CHECK_ROW)
	return !send_ops;
}

/* Functions that were not requested stay NULL, as on hardware. */
static void set_functions(struct ibv_qp_ex *ex, uint64_t send_ops)
{
#define SET_ROW(bit, opcode, function)                                                               \
	if (send_ops & (bit))                                                                        \
		ex->function = function;
	SEND_OPS(SET_ROW)
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	if (ex->qp_base.qp_type == IBV_QPT_UD)
		ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
}

int wr_builder_attach(struct softdev_qp *qp, uint64_t send_ops)
{
	struct wr_builder *builder = calloc(1, sizeof(*builder));
	size_t slots = qp->cap.max_send_wr + 1; /* not 0, for which calloc() may return NULL */

	if (!builder)
		return ENOMEM;
	builder->capacity = qp->cap.max_send_wr;
	builder->requests = calloc(slots, sizeof(*builder->requests));
	builder->lists = calloc(slots * (qp->cap.max_send_sge + 1), sizeof(*builder->lists));
	builder->bytes = calloc(slots, qp->cap.max_inline_data);
	qp->builder = builder; /* freed with the queue pair */
	if (!builder->requests || !builder->lists || !builder->bytes)
		return ENOMEM;
	set_functions(&qp->ex, send_ops);
	return 0;
}

void wr_builder_free(struct wr_builder *builder)
{
	if (!builder)
		return;
	free(builder->requests);
	free(builder->lists);
	free(builder->bytes);
	free(builder);
}

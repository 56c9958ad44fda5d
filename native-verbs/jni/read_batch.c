/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <assert.h>

/* The layout that Java's ReadBatch and CompletionBatch write and read. */
static_assert(sizeof(struct ibv_send_wr) == 128, "ReadBatch.WR_BYTES");
static_assert(offsetof(struct ibv_send_wr, next) == 8, "ReadBatch.NEXT");
static_assert(offsetof(struct ibv_send_wr, sg_list) == 16, "ReadBatch.SG_LIST");
static_assert(offsetof(struct ibv_send_wr, num_sge) == 24, "ReadBatch.NUM_SGE");
static_assert(offsetof(struct ibv_send_wr, opcode) == 28, "ReadBatch.OPCODE");
static_assert(offsetof(struct ibv_send_wr, send_flags) == 32, "ReadBatch.SEND_FLAGS");
static_assert(offsetof(struct ibv_send_wr, wr.rdma.remote_addr) == 40, "ReadBatch.REMOTE_ADDR");
static_assert(offsetof(struct ibv_send_wr, wr.rdma.rkey) == 48, "ReadBatch.RKEY");
static_assert(sizeof(struct ibv_sge) == 16, "ReadBatch.SGE_BYTES");
static_assert(offsetof(struct ibv_sge, length) == 8, "ReadBatch.SGE_LENGTH");
static_assert(offsetof(struct ibv_sge, lkey) == 12, "ReadBatch.SGE_LKEY");
static_assert(IBV_WR_RDMA_READ == 4, "ReadBatch.IBV_WR_RDMA_READ");
static_assert(IBV_SEND_SIGNALED == 2, "ReadBatch.IBV_SEND_SIGNALED");
static_assert(sizeof(struct ibv_wc) == 48, "CompletionBatch.WC_BYTES");
static_assert(offsetof(struct ibv_wc, status) == 8, "CompletionBatch.STATUS");
static_assert(offsetof(struct ibv_wc, vendor_err) == 16, "CompletionBatch.VENDOR_ERR");
static_assert(offsetof(struct ibv_wc, qp_num) == 28, "CompletionBatch.QP_NUM");

/* The requests lie in one array, so the refused one's place is the number of those posted. */
static jlong post_send(JNIEnv *env, jclass natives, jlong qp, jlong first, jint count)
{
	struct ibv_send_wr *requests = to_pointer(first);
	struct ibv_send_wr *bad = NULL;
	int error = ibv_post_send(to_pointer(qp), requests, &bad);
	uint32_t posted = (uint32_t)count;

	(void)env;
	(void)natives;
	if (error)
		posted = bad ? (uint32_t)(bad - requests) : 0;
	return (jlong)((uint64_t)(uint32_t)error << 32 | posted);
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("postSend", "(JJI)J", post_send),
};

const struct native_methods read_batch_natives = {natives_methods, ARRAY_SIZE(natives_methods)};

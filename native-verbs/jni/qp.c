/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <string.h>

/* DiSNI does not pass its scatter/gather limits. */
#define DISNI_MAX_SGE 4

/* What the address given to DiSNI's modifyQP points to. */
struct disni_qp_attr {
	int32_t mask; /* enum ibv_qp_attr_mask */
	int32_t reserved;
	struct ibv_qp_attr attr;
};

/*
 * A queue pair of which the provider knows that only READs are posted on it; its granted capabilities are in `attr` then.
 * NULL with errno if there is none to give or the provider cannot be told. The READs are posted by ibv_post_send, which
 * stays allowed on such a queue pair (ibv_wr_post(3): batches of both kinds can interleave).
 */
static struct ibv_qp *create_for_reads(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	/* Not by the inline ibv_create_qp_ex: it refers to ibv_create_qp, and this library is linked with no libibverbs. */
	struct verbs_context *context = verbs_get_ctx_op(pd->context, create_qp_ex);
	struct ibv_qp_init_attr_ex extended = {
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = pd,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};
	struct ibv_qp *qp;

	errno = EOPNOTSUPP;
	qp = context ? context->create_qp_ex(pd->context, &extended) : NULL;
	if (qp)
		attr->cap = extended.cap;
	return qp;
}

/*
 * The queue pair is not the id's (rdma_create_qp), so that librdmacm leaves its states to
 * queue_pair_to_ready.
 */
static jlong create_queue_pair(JNIEnv *env, jclass natives, jlong id_handle, jlong pd_handle,
			       jlong send_cq, jlong recv_cq, jboolean for_reads,
			       jintArray capabilities)
{
	struct rdma_cm_id *id = to_pointer(id_handle);
	struct ibv_pd *pd = to_pointer(pd_handle);
	jint values[5];
	struct ibv_qp_init_attr attr;
	struct ibv_qp *qp;

	(void)natives;
	(*env)->GetIntArrayRegion(env, capabilities, 0, ARRAY_SIZE(values), values);
	if ((*env)->ExceptionCheck(env))
		return 0;
	/* Its number would be announced on one device and be of another. */
	if (id->verbs != pd->context) {
		throw_verbs(env, "ibv_create_qp", EINVAL);
		return 0;
	}
	memset(&attr, 0, sizeof(attr));
	attr.send_cq = to_pointer(send_cq);
	attr.recv_cq = to_pointer(recv_cq);
	attr.qp_type = IBV_QPT_RC;
	attr.cap.max_send_wr = (uint32_t)values[0];
	attr.cap.max_recv_wr = (uint32_t)values[1];
	attr.cap.max_send_sge = (uint32_t)values[2];
	attr.cap.max_recv_sge = (uint32_t)values[3];
	attr.cap.max_inline_data = (uint32_t)values[4];
	qp = for_reads ? create_for_reads(pd, &attr) : verbs.ibv_create_qp(pd, &attr);
	if (!qp) {
		throw_verbs(env, for_reads ? "ibv_create_qp_ex" : "ibv_create_qp", errno);
		return 0;
	}
	values[0] = (jint)attr.cap.max_send_wr;
	values[1] = (jint)attr.cap.max_recv_wr;
	values[2] = (jint)attr.cap.max_send_sge;
	values[3] = (jint)attr.cap.max_recv_sge;
	values[4] = (jint)attr.cap.max_inline_data;
	(*env)->SetIntArrayRegion(env, capabilities, 0, ARRAY_SIZE(values), values);
	return to_handle(qp);
}

static jint destroy_queue_pair(JNIEnv *env, jclass natives, jlong qp)
{
	(void)env;
	(void)natives;
	return verbs.ibv_destroy_qp(to_pointer(qp));
}

static jlong disni_create_qp(JNIEnv *env, jobject self, jlong handle, jlong pd, jlong send_cq,
			     jlong recv_cq, jint type, jint max_send_wr, jint max_recv_wr,
			     jint max_inline)
{
	struct rdma_cm_id *id = to_pointer(handle);
	struct ibv_qp_init_attr attr;

	(void)self;
	memset(&attr, 0, sizeof(attr));
	attr.send_cq = to_pointer(send_cq);
	attr.recv_cq = to_pointer(recv_cq);
	attr.qp_type = (enum ibv_qp_type)type;
	attr.cap.max_send_wr = (uint32_t)max_send_wr;
	attr.cap.max_recv_wr = (uint32_t)max_recv_wr;
	attr.cap.max_send_sge = DISNI_MAX_SGE;
	attr.cap.max_recv_sge = DISNI_MAX_SGE;
	attr.cap.max_inline_data = (uint32_t)max_inline;
	if (verbs.rdma_create_qp(id, to_pointer(pd), &attr) != 0) {
		throw_disni(env, "createQP", "rdma_create_qp", errno);
		return -1;
	}
	return to_handle(id->qp);
}

/* A null `attributes`, which is all that DiSNI's own Java passes, changes nothing. */
static jint disni_modify_qp(JNIEnv *env, jobject self, jlong qp, jlong attributes)
{
	struct disni_qp_attr *request = to_pointer(attributes);
	int error;

	(void)self;
	if (!qp)
		return -1;
	if (!request)
		return 0;
	error = verbs.ibv_modify_qp(to_pointer(qp), &request->attr, request->mask);
	if (error)
		throw_disni(env, "modifyQP", "ibv_modify_qp", error);
	return error ? -1 : 0;
}

static jint disni_destroy_qp(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = to_pointer(handle);

	(void)env;
	(void)self;
	if (!id || !id->qp)
		return -1;
	verbs.rdma_destroy_qp(id);
	return 0;
}

static jint disni_get_qp_num(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_qp *qp = to_pointer(handle);

	(void)env;
	(void)self;
	return qp ? (jint)qp->qp_num : -1;
}

static void disni_post_send(JNIEnv *env, jobject self, jlong qp, jlong work_requests)
{
	struct ibv_send_wr *bad;
	int error = qp && work_requests
			    ? ibv_post_send(to_pointer(qp), to_pointer(work_requests), &bad)
			    : EINVAL;

	(void)self;
	if (error)
		throw_disni(env, "postSend", "ibv_post_send", error);
}

static void disni_post_recv(JNIEnv *env, jobject self, jlong qp, jlong work_requests)
{
	struct ibv_recv_wr *bad;
	int error = qp && work_requests
			    ? ibv_post_recv(to_pointer(qp), to_pointer(work_requests), &bad)
			    : EINVAL;

	(void)self;
	if (error)
		throw_disni(env, "postRecv", "ibv_post_recv", error);
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("createQueuePair", "(JJJJZ[I)J", create_queue_pair),
	NATIVE("destroyQueuePair", "(J)I", destroy_queue_pair),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_createQP", "(JJJJIIII)J", disni_create_qp),
	NATIVE("_modifyQP", "(JJ)I", disni_modify_qp),
	NATIVE("_destroyQP", "(J)I", disni_destroy_qp),
	NATIVE("_getQpNum", "(J)I", disni_get_qp_num),
	NATIVE("_postSend", "(JJ)V", disni_post_send),
	NATIVE("_postRecv", "(JJ)V", disni_post_recv),
};

const struct native_methods qp_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods qp_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of queue pairs that are not their connection id's. librdmacm would move them itself, with
 * the path's MTU and with access that the peer does not need; here they get their limits before the
 * peer can reach them.
 */
#include "natives.h"

#include <string.h>

/* What Java's QueuePairLimits gives, in its order. */
enum { ACCESS, MTU, INITIATOR_DEPTH, RESPONDER_RESOURCES, LIMITS };

/* What Java's QueuePairAttributes reads, in its order. */
enum { ATTRIBUTES = 11 };

/*
 * The attributes of enum ibv_qp_attr_mask that a connection has. The kernel's rdma_ucm may give bits
 * of its own above them, which ibv_modify_qp refuses.
 */
#define CONNECTION_ATTRIBUTES ((IBV_QP_DEST_QPN << 1) - 1)

static uint8_t at_most(uint8_t value, jint limit)
{
	return value < limit ? value : (uint8_t)limit;
}

/* 0, or the errno and the name of the call that failed. */
static int move(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state,
		const jint limits[LIMITS], const char **call)
{
	struct ibv_qp_attr attr;
	int mask;

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = state;
	*call = "rdma_init_qp_attr";
	if (verbs.rdma_init_qp_attr(id, &attr, &mask) != 0)
		return errno;
	attr.qp_access_flags = (unsigned int)limits[ACCESS];
	attr.path_mtu = at_most((uint8_t)attr.path_mtu, limits[MTU]);
	attr.max_rd_atomic = at_most(attr.max_rd_atomic, limits[INITIATOR_DEPTH]);
	attr.max_dest_rd_atomic = at_most(attr.max_dest_rd_atomic, limits[RESPONDER_RESOURCES]);
	*call = "ibv_modify_qp";
	return verbs.ibv_modify_qp(qp, &attr, mask & CONNECTION_ATTRIBUTES);
}

static void queue_pair_to_ready(JNIEnv *env, jclass natives, jlong id, jlong qp, jintArray java_limits)
{
	static const enum ibv_qp_state states[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
	jint limits[LIMITS];

	(void)natives;
	(*env)->GetIntArrayRegion(env, java_limits, 0, LIMITS, limits);
	for (size_t i = 0; i < ARRAY_SIZE(states) && !(*env)->ExceptionCheck(env); i++) {
		const char *call;
		int error = move(to_pointer(id), to_pointer(qp), states[i], limits, &call);

		if (error)
			throw_verbs(env, call, error);
	}
}

static jint queue_pair_to_error(JNIEnv *env, jclass natives, jlong qp)
{
	struct ibv_qp_attr attr;

	(void)env;
	(void)natives;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_ERR;
	return verbs.ibv_modify_qp(to_pointer(qp), &attr, IBV_QP_STATE);
}

static jint query_queue_pair(JNIEnv *env, jclass natives, jlong qp, jintArray out)
{
	const int mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT |
			 IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
			 IBV_QP_MAX_DEST_RD_ATOMIC;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init_attr;
	int error;

	(void)natives;
	memset(&attr, 0, sizeof(attr));
	error = verbs.ibv_query_qp(to_pointer(qp), &attr, mask, &init_attr);
	if (error)
		return error;
	(*env)->SetIntArrayRegion(env, out, 0, ATTRIBUTES,
				  (const jint[ATTRIBUTES]){
					  attr.qp_state,
					  (jint)attr.qp_access_flags,
					  attr.path_mtu,
					  attr.timeout,
					  attr.retry_cnt,
					  attr.rnr_retry,
					  attr.max_rd_atomic,
					  attr.max_dest_rd_atomic,
					  attr.ah_attr.grh.traffic_class,
					  attr.ah_attr.is_global ? attr.ah_attr.grh.sgid_index : -1,
					  attr.ah_attr.port_num,
				  });
	return 0;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("queuePairToReady", "(JJ[I)V", queue_pair_to_ready),
	NATIVE("queuePairToError", "(J)I", queue_pair_to_error),
	NATIVE("queryQueuePair", "(J[I)I", query_queue_pair),
};

const struct native_methods qp_state_natives = {natives_methods, ARRAY_SIZE(natives_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

static jlong create_completion_queue(JNIEnv *env, jclass natives, jlong context, jint cqe,
				     jlong channel, jint vector)
{
	struct ibv_cq *cq = verbs.ibv_create_cq(to_pointer(context), cqe, NULL, to_pointer(channel),
						vector);

	(void)natives;
	if (!cq)
		throw_verbs(env, "ibv_create_cq", errno);
	return to_handle(cq);
}

static jint completion_queue_capacity(JNIEnv *env, jclass natives, jlong handle)
{
	struct ibv_cq *cq = to_pointer(handle);

	(void)env;
	(void)natives;
	return cq->cqe;
}

static jint resize_completion_queue(JNIEnv *env, jclass natives, jlong cq, jint cqe)
{
	int error = verbs.ibv_resize_cq(to_pointer(cq), cqe);

	(void)env;
	(void)natives;
	return error < 0 ? errno : error; /* mlx5 returns -1 where it has no memory */
}

static jint poll_completions(JNIEnv *env, jclass natives, jlong cq, jint count, jlong records)
{
	(void)env;
	(void)natives;
	return ibv_poll_cq(to_pointer(cq), count, to_pointer(records));
}

/* 1 and the queue the event is of, 0 after the timeout, or -errno. */
static int next_event(struct ibv_comp_channel *channel, int timeout_ms, struct ibv_cq **cq)
{
	void *cq_context;
	int ready = wait_readable(channel->fd, timeout_ms);

	if (ready <= 0)
		return ready;
	if (verbs.ibv_get_cq_event(channel, cq, &cq_context) == 0)
		return 1;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static jint await_completion_event(JNIEnv *env, jclass natives, jlong channel, jint timeout_ms)
{
	struct ibv_cq *cq;
	int result = next_event(to_pointer(channel), timeout_ms, &cq);

	(void)env;
	(void)natives;
	if (result > 0)
		verbs.ibv_ack_cq_events(cq, 1);
	return result;
}

static jlong disni_create_comp_channel(JNIEnv *env, jobject self, jlong context)
{
	struct ibv_comp_channel *channel = verbs.ibv_create_comp_channel(to_pointer(context));

	(void)self;
	if (!channel) {
		throw_disni(env, "createCompChannel", "ibv_create_comp_channel", errno);
		return -1;
	}
	if (set_nonblocking(channel->fd) != 0) {
		throw_disni(env, "createCompChannel", "fcntl", errno);
		verbs.ibv_destroy_comp_channel(channel);
		return -1;
	}
	return to_handle(channel);
}

static jlong disni_create_cq(JNIEnv *env, jobject self, jlong context, jlong channel, jint cqe,
			     jint vector)
{
	struct ibv_cq *cq = verbs.ibv_create_cq(to_pointer(context), cqe, NULL, to_pointer(channel),
						vector);

	(void)self;
	if (!cq) {
		throw_disni(env, "createCQ", "ibv_create_cq", errno);
		return -1;
	}
	return to_handle(cq);
}

static jint disni_get_cq_event(JNIEnv *env, jobject self, jlong channel, jint timeout_ms)
{
	struct ibv_cq *cq;
	int result;

	(void)self;
	if (!channel)
		return -1;
	result = next_event(to_pointer(channel), timeout_ms, &cq);
	if (result < 0)
		throw_disni(env, "getCqEvent", "ibv_get_cq_event", -result);
	return result > 0 ? 0 : -1;
}

static jint disni_poll_cq(JNIEnv *env, jobject self, jlong cq, jint count, jlong records)
{
	(void)env;
	(void)self;
	return cq && records ? ibv_poll_cq(to_pointer(cq), count, to_pointer(records)) : -1;
}

static jint disni_req_notify_cq(JNIEnv *env, jobject self, jlong cq, jint solicited_only)
{
	(void)env;
	(void)self;
	return cq ? ibv_req_notify_cq(to_pointer(cq), solicited_only) : -1;
}

static jint disni_ack_cq_event(JNIEnv *env, jobject self, jlong cq, jint count)
{
	(void)env;
	(void)self;
	if (!cq)
		return -1;
	verbs.ibv_ack_cq_events(to_pointer(cq), (unsigned int)count);
	return 0;
}

static jint disni_destroy_comp_channel(JNIEnv *env, jobject self, jlong channel)
{
	(void)env;
	(void)self;
	return channel ? verbs.ibv_destroy_comp_channel(to_pointer(channel)) : -1;
}

static jint disni_destroy_cq(JNIEnv *env, jobject self, jlong cq)
{
	(void)env;
	(void)self;
	return cq ? verbs.ibv_destroy_cq(to_pointer(cq)) : -1;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("createCompletionQueue", "(JIJI)J", create_completion_queue),
	NATIVE("completionQueueCapacity", "(J)I", completion_queue_capacity),
	NATIVE("resizeCompletionQueue", "(JI)I", resize_completion_queue),
	NATIVE("pollCompletions", "(JIJ)I", poll_completions),
	NATIVE("awaitCompletionEvent", "(JI)I", await_completion_event),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_createCompChannel", "(J)J", disni_create_comp_channel),
	NATIVE("_createCQ", "(JJII)J", disni_create_cq),
	NATIVE("_getCqEvent", "(JI)I", disni_get_cq_event),
	NATIVE("_pollCQ", "(JIJ)I", disni_poll_cq),
	NATIVE("_reqNotifyCQ", "(JI)I", disni_req_notify_cq),
	NATIVE("_ackCqEvent", "(JI)I", disni_ack_cq_event),
	NATIVE("_destroyCompChannel", "(J)I", disni_destroy_comp_channel),
	NATIVE("_destroyCQ", "(J)I", disni_destroy_cq),
};

const struct native_methods cq_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods cq_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

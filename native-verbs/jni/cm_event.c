/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <assert.h>
#include <string.h>

#include "held_events.h"

#define PRIVATE_DATA_MAX 256

/* The record that Java's CmEvent reads. */
struct event_record {
	uint64_t id;
	uint64_t listen_id;
	int32_t type;
	int32_t status;
	uint32_t qp_num;
	int32_t responder_resources;
	int32_t initiator_depth;
	int32_t private_data_length;
	uint8_t private_data[PRIVATE_DATA_MAX];
};

static_assert(offsetof(struct event_record, private_data) == 40, "CmEvent.PRIVATE_DATA");
static_assert(sizeof(struct event_record) == 296, "CmEvent.RECORD_BYTES");

/* 1 and an event, 0 after the timeout, or -errno. */
static int next_event(struct rdma_event_channel *channel, int timeout_ms,
		      struct rdma_cm_event **event)
{
	int ready = wait_readable(channel->fd, timeout_ms);

	if (ready <= 0)
		return ready;
	if (verbs.rdma_get_cm_event(channel, event) == 0)
		return 1;
	/* Another thread took it, or the library kept it for itself. */
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void fill_record(struct event_record *record, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;

	memset(record, 0, sizeof(*record));
	record->id = (uintptr_t)event->id;
	record->listen_id = (uintptr_t)event->listen_id;
	record->type = event->event;
	record->status = event->status;
	record->qp_num = conn->qp_num;
	record->responder_resources = conn->responder_resources;
	record->initiator_depth = conn->initiator_depth;
	if (conn->private_data) {
		record->private_data_length = conn->private_data_len;
		memcpy(record->private_data, conn->private_data, conn->private_data_len);
	}
}

static jlong get_cm_event(JNIEnv *env, jclass natives, jlong handle, jint timeout_ms, jobject out)
{
	struct rdma_cm_event *event = NULL;
	int result = next_event(to_pointer(handle), timeout_ms, &event);

	(void)natives;
	if (result < 0)
		throw_verbs(env, "rdma_get_cm_event", -result);
	if (result <= 0)
		return 0;
	fill_record((*env)->GetDirectBufferAddress(env, out), event);
	return to_handle(event);
}

static jint ack_cm_event(JNIEnv *env, jclass natives, jlong handle)
{
	(void)env;
	(void)natives;
	return verbs.rdma_ack_cm_event(to_pointer(handle)) == 0 ? 0 : errno;
}

static jlong disni_create_event_channel(JNIEnv *env, jobject self)
{
	struct rdma_event_channel *channel = verbs.rdma_create_event_channel();

	(void)self;
	if (!channel) {
		throw_disni(env, "createEventChannel", "rdma_create_event_channel", errno);
		return -1;
	}
	if (set_nonblocking(channel->fd) != 0) {
		throw_disni(env, "createEventChannel", "fcntl", errno);
		verbs.rdma_destroy_event_channel(channel);
		return -1;
	}
	return to_handle(channel);
}

static jint disni_destroy_event_channel(JNIEnv *env, jobject self, jlong handle)
{
	(void)env;
	(void)self;
	if (!handle)
		return -1;
	held_events_ack_channel(to_pointer(handle));
	verbs.rdma_destroy_event_channel(to_pointer(handle));
	return 0;
}

static jint disni_get_cm_event(JNIEnv *env, jobject self, jlong handle, jlong listen_id_out,
			       jlong id_out, jint timeout_ms)
{
	struct rdma_event_channel *channel = to_pointer(handle);
	struct rdma_cm_event *event = NULL;
	int64_t *listen_id = to_pointer(listen_id_out);
	int64_t *id = to_pointer(id_out);
	int result;

	(void)self;
	if (!channel || !listen_id || !id)
		return -1;
	held_events_ack_channel(channel);
	result = next_event(channel, timeout_ms, &event);
	if (result < 0)
		throw_disni(env, "getCmEvent", "rdma_get_cm_event", -result);
	if (result <= 0)
		return -1;
	*listen_id = event->listen_id ? to_handle(event->listen_id) : -1;
	*id = event->id ? to_handle(event->id) : -1;
	result = (int)event->event;
	if (held_events_add(channel, event) != 0)
		verbs.rdma_ack_cm_event(event);
	return result;
}

static jint disni_ack_cm_event(JNIEnv *env, jobject self, jint type)
{
	(void)env;
	(void)self;
	held_events_ack_type(type);
	return 0;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("getCmEvent", "(JILjava/nio/ByteBuffer;)J", get_cm_event),
	NATIVE("ackCmEvent", "(J)I", ack_cm_event),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_createEventChannel", "()J", disni_create_event_channel),
	NATIVE("_destroyEventChannel", "(J)I", disni_destroy_event_channel),
	NATIVE("_getCmEvent", "(JJJI)I", disni_get_cm_event),
	NATIVE("_ackCmEvent", "(I)I", disni_ack_cm_event),
};

const struct native_methods cm_event_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods cm_event_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <string.h>

static jobjectArray device_names(JNIEnv *env, jclass natives)
{
	int count = 0;
	struct ibv_device **list = verbs.ibv_get_device_list(&count);
	jobjectArray names = NULL;
	jclass string_class;

	(void)natives;
	if (!list) {
		throw_verbs(env, "ibv_get_device_list", errno);
		return NULL;
	}
	string_class = (*env)->FindClass(env, "java/lang/String");
	if (string_class)
		names = (*env)->NewObjectArray(env, count, string_class, NULL);
	for (int i = 0; names && i < count; i++) {
		jstring name = (*env)->NewStringUTF(env, verbs.ibv_get_device_name(list[i]));

		if (name)
			(*env)->SetObjectArrayElement(env, names, i, name);
		if ((*env)->ExceptionCheck(env)) {
			names = NULL;
			break;
		}
		(*env)->DeleteLocalRef(env, name);
	}
	verbs.ibv_free_device_list(list);
	return names;
}

static struct ibv_context *open_by_name(const char *name)
{
	struct ibv_device **list = verbs.ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int error = ENODEV;

	if (!list)
		return NULL;
	for (int i = 0; list[i]; i++) {
		if (strcmp(verbs.ibv_get_device_name(list[i]), name) != 0)
			continue;
		context = verbs.ibv_open_device(list[i]);
		error = errno;
		break;
	}
	verbs.ibv_free_device_list(list);
	errno = error;
	return context;
}

static jlong open_device(JNIEnv *env, jclass natives, jstring java_name)
{
	const char *name = (*env)->GetStringUTFChars(env, java_name, NULL);
	struct ibv_context *context;
	int error;

	(void)natives;
	if (!name)
		return 0;
	context = open_by_name(name);
	error = errno;
	(*env)->ReleaseStringUTFChars(env, java_name, name);
	if (!context)
		throw_verbs(env, "ibv_open_device", error);
	return to_handle(context);
}

static jint close_device(JNIEnv *env, jclass natives, jlong handle)
{
	(void)env;
	(void)natives;
	errno = EIO;
	return verbs.ibv_close_device(to_pointer(handle)) == 0 ? 0 : errno;
}

static jlongArray cm_contexts(JNIEnv *env, jclass natives)
{
	int count = 0;
	struct ibv_context **list = verbs.rdma_get_devices(&count);
	jlongArray handles;

	(void)natives;
	if (!list) {
		throw_verbs(env, "rdma_get_devices", errno);
		return NULL;
	}
	handles = (*env)->NewLongArray(env, count);
	for (int i = 0; handles && i < count; i++) {
		const jlong handle = to_handle(list[i]);

		(*env)->SetLongArrayRegion(env, handles, i, 1, &handle);
	}
	verbs.rdma_free_devices(list);
	return handles;
}

static jstring device_name(JNIEnv *env, jclass natives, jlong handle)
{
	struct ibv_context *context = to_pointer(handle);

	(void)natives;
	return (*env)->NewStringUTF(env, verbs.ibv_get_device_name(context->device));
}

/* The ODP capabilities of RC queue pairs; 0 also where the provider cannot be asked. */
static uint32_t rc_odp_capabilities(struct ibv_context *context)
{
	struct verbs_context *extended = verbs_get_ctx_op(context, query_device_ex);
	struct ibv_device_attr_ex attr;

	memset(&attr, 0, sizeof(attr));
	if (!extended || extended->query_device_ex(context, NULL, &attr, sizeof(attr)) != 0 ||
	    !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		return 0;
	return attr.odp_caps.per_transport_caps.rc_odp_caps;
}

static void query_device(JNIEnv *env, jclass natives, jlong handle, jlongArray out)
{
	struct ibv_context *context = to_pointer(handle);
	struct ibv_device_attr attr;
	jlong words[12];
	int error;

	(void)natives;
	memset(&attr, 0, sizeof(attr));
	error = verbs.ibv_query_device(context, &attr);
	if (error) {
		throw_verbs(env, "ibv_query_device", error);
		return;
	}
	words[0] = (jlong)be64toh(verbs.ibv_get_device_guid(context->device));
	words[1] = attr.max_qp_rd_atom;
	words[2] = attr.max_qp_wr;
	words[3] = attr.max_sge;
	words[4] = attr.max_cqe;
	words[5] = (jlong)attr.max_mr_size;
	words[6] = attr.max_mr;
	words[7] = (rc_odp_capabilities(context) & IBV_ODP_SUPPORT_READ) != 0;
	words[8] = attr.phys_port_cnt;
	words[9] = attr.max_qp_init_rd_atom;
	words[10] = attr.local_ca_ack_delay;
	words[11] = attr.max_qp;
	(*env)->SetLongArrayRegion(env, out, 0, ARRAY_SIZE(words), words);
}

static void query_port(JNIEnv *env, jclass natives, jlong handle, jint port, jlongArray out)
{
	struct ibv_port_attr attr;
	jlong words[5];
	int error;

	(void)natives;
	memset(&attr, 0, sizeof(attr));
	/* The exported function fills the part of the structure that its first version had. */
	error = verbs.ibv_query_port(to_pointer(handle), (uint8_t)port,
				     (struct _compat_ibv_port_attr *)&attr);
	if (error) {
		throw_verbs(env, "ibv_query_port", error);
		return;
	}
	words[0] = attr.state;
	words[1] = attr.active_mtu;
	words[2] = attr.max_msg_sz;
	words[3] = attr.link_layer;
	words[4] = attr.gid_tbl_len;
	(*env)->SetLongArrayRegion(env, out, 0, ARRAY_SIZE(words), words);
}

static void query_gid(JNIEnv *env, jclass natives, jlong handle, jint port, jint index,
		      jbyteArray out)
{
	union ibv_gid gid;

	(void)natives;
	errno = EIO;
	if (verbs.ibv_query_gid(to_pointer(handle), (uint8_t)port, index, &gid) != 0) {
		throw_verbs(env, "ibv_query_gid", errno);
		return;
	}
	(*env)->SetByteArrayRegion(env, out, 0, sizeof(gid), (const jbyte *)gid.raw);
}

/* The queue pair or port an event is about. */
static jlong event_element(const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		return to_handle(event->element.cq);
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		return event->element.qp->qp_num;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return event->element.port_num;
	default:
		return 0;
	}
}

static jstring get_async_event(JNIEnv *env, jclass natives, jlong handle, jint timeout_ms,
			       jlongArray out)
{
	struct ibv_context *context = to_pointer(handle);
	struct ibv_async_event event;
	jlong words[2];
	int ready;

	(void)natives;
	/* Another thread may take the event between poll and read. */
	if (set_nonblocking(context->async_fd) != 0) {
		throw_verbs(env, "fcntl", errno);
		return NULL;
	}
	ready = wait_readable(context->async_fd, timeout_ms);
	if (ready < 0)
		throw_verbs(env, "poll", -ready);
	if (ready <= 0)
		return NULL;
	if (verbs.ibv_get_async_event(context, &event) != 0) {
		if (errno != EAGAIN && errno != EINTR)
			throw_verbs(env, "ibv_get_async_event", errno);
		return NULL;
	}
	words[0] = event.event_type;
	words[1] = event_element(&event);
	verbs.ibv_ack_async_event(&event);
	(*env)->SetLongArrayRegion(env, out, 0, ARRAY_SIZE(words), words);
	if ((*env)->ExceptionCheck(env))
		return NULL;
	return (*env)->NewStringUTF(env, verbs.ibv_event_type_str(event.event_type));
}

static jint disni_query_odp_support(JNIEnv *env, jobject self, jlong handle)
{
	uint32_t capabilities;

	(void)env;
	(void)self;
	if (!handle)
		return -1;
	capabilities = rc_odp_capabilities(to_pointer(handle));
	return capabilities ? (jint)capabilities : -1;
}

static jint disni_get_context_fd(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = to_pointer(handle);

	(void)env;
	(void)self;
	return context ? context->cmd_fd : -1;
}

static jint disni_get_context_num_comp_vectors(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_context *context = to_pointer(handle);

	(void)env;
	(void)self;
	return context ? context->num_comp_vectors : -1;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("deviceNames", "()[Ljava/lang/String;", device_names),
	NATIVE("openDevice", "(Ljava/lang/String;)J", open_device),
	NATIVE("closeDevice", "(J)I", close_device),
	NATIVE("cmContexts", "()[J", cm_contexts),
	NATIVE("deviceName", "(J)Ljava/lang/String;", device_name),
	NATIVE("queryDevice", "(J[J)V", query_device),
	NATIVE("queryPort", "(JI[J)V", query_port),
	NATIVE("queryGid", "(JII[B)V", query_gid),
	NATIVE("getAsyncEvent", "(JI[J)Ljava/lang/String;", get_async_event),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_queryOdpSupport", "(J)I", disni_query_odp_support),
	NATIVE("_getContextFd", "(J)I", disni_get_context_fd),
	NATIVE("_getContextNumCompVectors", "(J)I", disni_get_context_num_comp_vectors),
};

const struct native_methods device_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods device_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <netinet/in.h>
#include <string.h>

#include "held_events.h"
#include "sockaddr.h"

#define PRIVATE_DATA_MAX 255

/*
 * 0 if the id has a device, else -1 and errno. librdmacm (of rdma-core 44) uses the id's device in
 * rdma_resolve_route, rdma_connect, rdma_accept and rdma_disconnect without asking whether there is
 * one, which ends the JVM.
 */
static int require_device(const struct rdma_cm_id *id)
{
	if (id->verbs)
		return 0;
	errno = EINVAL;
	return -1;
}

static void bind_address(JNIEnv *env, jclass natives, jlong id, jbyteArray address, jint scope_id,
			 jint port)
{
	struct sockaddr_storage storage;

	(void)natives;
	if (sockaddr_from_java(env, address, scope_id, port, &storage) != 0)
		throw_verbs(env, "rdma_bind_addr", EAFNOSUPPORT);
	else if (verbs.rdma_bind_addr(to_pointer(id), (struct sockaddr *)&storage) != 0)
		throw_verbs(env, "rdma_bind_addr", errno);
}

static void resolve_address(JNIEnv *env, jclass natives, jlong id, jbyteArray source,
			    jint source_scope_id, jint source_port, jbyteArray destination,
			    jint scope_id, jint port, jint timeout_ms)
{
	struct sockaddr_storage from;
	struct sockaddr_storage to;

	(void)natives;
	if ((source &&
	     sockaddr_from_java(env, source, source_scope_id, source_port, &from) != 0) ||
	    sockaddr_from_java(env, destination, scope_id, port, &to) != 0)
		throw_verbs(env, "rdma_resolve_addr", EAFNOSUPPORT);
	else if (verbs.rdma_resolve_addr(to_pointer(id), source ? (struct sockaddr *)&from : NULL,
					 (struct sockaddr *)&to, timeout_ms) != 0)
		throw_verbs(env, "rdma_resolve_addr", errno);
}

static jint address_of(JNIEnv *env, jclass natives, jlong handle, jboolean peer, jbyteArray out,
		       jintArray port_and_scope)
{
	struct rdma_cm_id *id = to_pointer(handle);

	(void)natives;
	return sockaddr_to_java(env, peer ? rdma_get_peer_addr(id) : rdma_get_local_addr(id), out,
				port_and_scope);
}

typedef int (*connect_function)(struct rdma_cm_id *id, struct rdma_conn_param *parameters);

static void connect_or_accept(JNIEnv *env, const char *call, connect_function function, jlong id,
			      jbyteArray private_data, struct rdma_conn_param *parameters)
{
	uint8_t data[PRIVATE_DATA_MAX];

	if (private_data) {
		jsize length = (*env)->GetArrayLength(env, private_data);

		if (length > PRIVATE_DATA_MAX) {
			throw_verbs(env, call, EINVAL);
			return;
		}
		(*env)->GetByteArrayRegion(env, private_data, 0, length, (jbyte *)data);
		parameters->private_data = length > 0 ? data : NULL;
		parameters->private_data_len = (uint8_t)length;
	}
	if (require_device(to_pointer(id)) != 0 || function(to_pointer(id), parameters) != 0)
		throw_verbs(env, call, errno);
}

static void connect_id(JNIEnv *env, jclass natives, jlong id, jint qp_number, jbyteArray private_data,
		       jint responder_resources, jint initiator_depth, jint retry_count,
		       jint rnr_retry_count)
{
	struct rdma_conn_param parameters = {
		.qp_num = (uint32_t)qp_number,
		.responder_resources = (uint8_t)responder_resources,
		.initiator_depth = (uint8_t)initiator_depth,
		.retry_count = (uint8_t)retry_count,
		.rnr_retry_count = (uint8_t)rnr_retry_count,
	};

	(void)natives;
	connect_or_accept(env, "rdma_connect", verbs.rdma_connect, id, private_data, &parameters);
}

static void accept_id(JNIEnv *env, jclass natives, jlong id, jint qp_number, jbyteArray private_data,
		      jint responder_resources, jint initiator_depth, jint retry_count,
		      jint rnr_retry_count)
{
	struct rdma_conn_param parameters = {
		.qp_num = (uint32_t)qp_number,
		.responder_resources = (uint8_t)responder_resources,
		.initiator_depth = (uint8_t)initiator_depth,
		.retry_count = (uint8_t)retry_count,
		.rnr_retry_count = (uint8_t)rnr_retry_count,
	};

	(void)natives;
	connect_or_accept(env, "rdma_accept", verbs.rdma_accept, id, private_data, &parameters);
}

static void establish_id(JNIEnv *env, jclass natives, jlong id)
{
	(void)natives;
	if (require_device(to_pointer(id)) != 0 || verbs.rdma_establish(to_pointer(id)) != 0)
		throw_verbs(env, "rdma_establish", errno);
}

/* Of those options of RDMA_OPTION_ID that are one byte. */
static void set_option(JNIEnv *env, jclass natives, jlong id, jint name, jint value)
{
	uint8_t byte = (uint8_t)value;

	(void)natives;
	if (verbs.rdma_set_option(to_pointer(id), RDMA_OPTION_ID, name, &byte, sizeof(byte)) != 0)
		throw_verbs(env, "rdma_set_option", errno);
}

static jint port_number(JNIEnv *env, jclass natives, jlong handle)
{
	struct rdma_cm_id *id = to_pointer(handle);

	(void)env;
	(void)natives;
	return id->port_num;
}

static void reject_id(JNIEnv *env, jclass natives, jlong id, jbyteArray private_data)
{
	uint8_t data[PRIVATE_DATA_MAX];
	jsize length = (*env)->GetArrayLength(env, private_data);

	(void)natives;
	if (length > PRIVATE_DATA_MAX) {
		throw_verbs(env, "rdma_reject", EINVAL);
		return;
	}
	(*env)->GetByteArrayRegion(env, private_data, 0, length, (jbyte *)data);
	if (verbs.rdma_reject(to_pointer(id), data, (uint8_t)length) != 0)
		throw_verbs(env, "rdma_reject", errno);
}

static void disconnect_id(JNIEnv *env, jclass natives, jlong id)
{
	(void)natives;
	if (require_device(to_pointer(id)) != 0 || verbs.rdma_disconnect(to_pointer(id)) != 0)
		throw_verbs(env, "rdma_disconnect", errno);
}

static jint destroy_id(JNIEnv *env, jclass natives, jlong id)
{
	(void)env;
	(void)natives;
	return verbs.rdma_destroy_id(to_pointer(id)) == 0 ? 0 : errno;
}

static jlong disni_create_id(JNIEnv *env, jobject self, jlong channel, jshort port_space)
{
	struct rdma_cm_id *id;

	(void)self;
	if (verbs.rdma_create_id(to_pointer(channel), &id, NULL,
				 (enum rdma_port_space)(uint16_t)port_space) != 0) {
		throw_disni(env, "createId", "rdma_create_id", errno);
		return -1;
	}
	return to_handle(id);
}

static void disni_bind_addr(JNIEnv *env, jobject self, jlong id, jlong address)
{
	(void)self;
	if (verbs.rdma_bind_addr(to_pointer(id), to_pointer(address)) != 0)
		throw_disni(env, "bind", "rdma_bind_addr", errno);
}

static void disni_listen(JNIEnv *env, jobject self, jlong id, jint backlog)
{
	(void)self;
	if (verbs.rdma_listen(to_pointer(id), backlog) != 0)
		throw_disni(env, "listen", "rdma_listen", errno);
}

static void disni_resolve_addr(JNIEnv *env, jobject self, jlong id, jlong source,
			       jlong destination, jint timeout_ms)
{
	(void)self;
	if (verbs.rdma_resolve_addr(to_pointer(id), to_pointer(source), to_pointer(destination),
				    timeout_ms) != 0)
		throw_disni(env, "resolveAddr", "rdma_resolve_addr", errno);
}

static void disni_resolve_route(JNIEnv *env, jobject self, jlong id, jint timeout_ms)
{
	(void)self;
	if (require_device(to_pointer(id)) != 0 ||
	    verbs.rdma_resolve_route(to_pointer(id), timeout_ms) != 0)
		throw_disni(env, "resolveRoute", "rdma_resolve_route", errno);
}

static uint8_t at_most_255(int value)
{
	return (uint8_t)(value > UINT8_MAX ? UINT8_MAX : value);
}

/* DiSNI's connect and accept ask for as many READs in flight as the device has; 0 or a errno. */
static int device_depths(const struct rdma_cm_id *id, struct rdma_conn_param *parameters)
{
	struct ibv_device_attr attr;
	int error;

	if (!id || !id->verbs)
		return EINVAL;
	memset(&attr, 0, sizeof(attr));
	error = verbs.ibv_query_device(id->verbs, &attr);
	if (error)
		return error;
	parameters->responder_resources = at_most_255(attr.max_qp_rd_atom);
	parameters->initiator_depth = at_most_255(attr.max_qp_init_rd_atom);
	return 0;
}

static void disni_connect(JNIEnv *env, jobject self, jlong id, jint retry_count,
			  jint rnr_retry_count, jlong private_data, jbyte private_data_length)
{
	struct rdma_conn_param parameters = {
		.retry_count = (uint8_t)retry_count,
		.rnr_retry_count = (uint8_t)rnr_retry_count,
		.private_data = to_pointer(private_data),
		.private_data_len = private_data ? (uint8_t)private_data_length : 0,
	};
	int error = device_depths(to_pointer(id), &parameters);

	(void)self;
	if (error)
		throw_disni(env, "connect", "ibv_query_device", error);
	else if (verbs.rdma_connect(to_pointer(id), &parameters) != 0)
		throw_disni(env, "connect", "rdma_connect", errno);
}

static void disni_accept(JNIEnv *env, jobject self, jlong id, jint retry_count,
			 jint rnr_retry_count)
{
	struct rdma_conn_param parameters = {
		.retry_count = (uint8_t)retry_count,
		.rnr_retry_count = (uint8_t)rnr_retry_count,
	};
	int error = device_depths(to_pointer(id), &parameters);

	(void)self;
	if (error)
		throw_disni(env, "accept", "ibv_query_device", error);
	else if (verbs.rdma_accept(to_pointer(id), &parameters) != 0)
		throw_disni(env, "accept", "rdma_accept", errno);
}

static jint disni_disconnect(JNIEnv *env, jobject self, jlong id)
{
	(void)env;
	(void)self;
	if (!id || require_device(to_pointer(id)) != 0)
		return -1;
	return verbs.rdma_disconnect(to_pointer(id));
}

static jint disni_destroy_cm_id(JNIEnv *env, jobject self, jlong id)
{
	(void)env;
	(void)self;
	if (!id)
		return -1;
	held_events_ack_id(to_pointer(id));
	return verbs.rdma_destroy_id(to_pointer(id));
}

static jint disni_destroy_ep(JNIEnv *env, jobject self, jlong id)
{
	(void)env;
	(void)self;
	if (!id)
		return -1;
	held_events_ack_id(to_pointer(id));
	verbs.rdma_destroy_ep(to_pointer(id));
	return 0;
}

/* DiSNI's buffer holds an IPv4 address; an IPv6 one does not fit and is refused. */
static jint copy_ipv4(const struct sockaddr *address, jlong out)
{
	if (!out || address->sa_family != AF_INET)
		return -1;
	memcpy(to_pointer(out), address, sizeof(struct sockaddr_in));
	return 0;
}

static jint disni_get_src_addr(JNIEnv *env, jobject self, jlong id, jlong out)
{
	(void)env;
	(void)self;
	return id ? copy_ipv4(rdma_get_local_addr(to_pointer(id)), out) : -1;
}

static jint disni_get_dst_addr(JNIEnv *env, jobject self, jlong id, jlong out)
{
	(void)env;
	(void)self;
	return id ? copy_ipv4(rdma_get_peer_addr(to_pointer(id)), out) : -1;
}

static jlong disni_get_context(JNIEnv *env, jobject self, jlong handle)
{
	struct rdma_cm_id *id = to_pointer(handle);

	(void)env;
	(void)self;
	return id && id->verbs ? to_handle(id->verbs) : -1;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("bindAddress", "(J[BII)V", bind_address),
	NATIVE("resolveAddress", "(J[BII[BIII)V", resolve_address),
	NATIVE("address", "(JZ[B[I)I", address_of),
	NATIVE("setOption", "(JII)V", set_option),
	NATIVE("port", "(J)I", port_number),
	NATIVE("connect", "(JI[BIIII)V", connect_id),
	NATIVE("establish", "(J)V", establish_id),
	NATIVE("accept", "(JI[BIIII)V", accept_id),
	NATIVE("reject", "(J[B)V", reject_id),
	NATIVE("disconnect", "(J)V", disconnect_id),
	NATIVE("destroyId", "(J)I", destroy_id),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_createId", "(JS)J", disni_create_id),
	NATIVE("_bindAddr", "(JJ)V", disni_bind_addr),
	NATIVE("_listen", "(JI)V", disni_listen),
	NATIVE("_resolveAddr", "(JJJI)V", disni_resolve_addr),
	NATIVE("_resolveRoute", "(JI)V", disni_resolve_route),
	NATIVE("_connect", "(JIIJB)V", disni_connect),
	NATIVE("_accept", "(JII)V", disni_accept),
	NATIVE("_disconnect", "(J)I", disni_disconnect),
	NATIVE("_destroyCmId", "(J)I", disni_destroy_cm_id),
	NATIVE("_destroyEp", "(J)I", disni_destroy_ep),
	NATIVE("_getSrcAddr", "(JJ)I", disni_get_src_addr),
	NATIVE("_getDstAddr", "(JJ)I", disni_get_dst_addr),
	NATIVE("_getContext", "(J)J", disni_get_context),
};

const struct native_methods cm_id_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods cm_id_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

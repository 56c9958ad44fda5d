/* SPDX-License-Identifier: Apache-2.0 */
#include "sockaddr.h"

#include <netinet/in.h>
#include <string.h>

int sockaddr_from_java(JNIEnv *env, jbyteArray address, jint scope_id, jint port,
		       struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	switch ((*env)->GetArrayLength(env, address)) {
	case sizeof(v4->sin_addr):
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		(*env)->GetByteArrayRegion(env, address, 0, sizeof(v4->sin_addr),
					   (jbyte *)&v4->sin_addr);
		break;
	case sizeof(v6->sin6_addr):
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		v6->sin6_scope_id = (uint32_t)scope_id;
		(*env)->GetByteArrayRegion(env, address, 0, sizeof(v6->sin6_addr),
					   (jbyte *)&v6->sin6_addr);
		break;
	default:
		return -1;
	}
	return (*env)->ExceptionCheck(env) ? -1 : 0;
}

jint sockaddr_to_java(JNIEnv *env, const struct sockaddr *address, jbyteArray out,
		      jintArray port_and_scope)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	const void *bytes;
	jint numbers[2];
	jint length;

	switch (address->sa_family) {
	case AF_INET:
		bytes = &v4->sin_addr;
		length = sizeof(v4->sin_addr);
		numbers[0] = ntohs(v4->sin_port);
		numbers[1] = 0;
		break;
	case AF_INET6:
		bytes = &v6->sin6_addr;
		length = sizeof(v6->sin6_addr);
		numbers[0] = ntohs(v6->sin6_port);
		numbers[1] = (jint)v6->sin6_scope_id;
		break;
	default:
		return 0;
	}
	(*env)->SetByteArrayRegion(env, out, 0, length, bytes);
	if ((*env)->ExceptionCheck(env))
		return 0;
	(*env)->SetIntArrayRegion(env, port_and_scope, 0, 2, numbers);
	return length;
}

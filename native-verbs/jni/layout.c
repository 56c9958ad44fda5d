/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and offsets that DiSNI's serializers ask for. */
#include "natives.h"

#include <netinet/in.h>

#define DISNI_VERSION 32

#define LAYOUT_NATIVE(name, value)                   \
	static jint name(JNIEnv *env, jobject self)  \
	{                                            \
		(void)env;                           \
		(void)self;                          \
		return (jint)(value);                \
	}

LAYOUT_NATIVE(sockaddr_size, sizeof(struct sockaddr_in))
LAYOUT_NATIVE(recv_wr_size, sizeof(struct ibv_recv_wr))
LAYOUT_NATIVE(send_wr_size, sizeof(struct ibv_send_wr))
LAYOUT_NATIVE(sge_size, sizeof(struct ibv_sge))
LAYOUT_NATIVE(wc_size, sizeof(struct ibv_wc))
LAYOUT_NATIVE(remote_address_offset, offsetof(struct ibv_send_wr, wr.rdma.remote_addr))
LAYOUT_NATIVE(rkey_offset, offsetof(struct ibv_send_wr, wr.rdma.rkey))
LAYOUT_NATIVE(version, DISNI_VERSION)

static const JNINativeMethod disni_methods[] = {
	NATIVE("_getSockAddrInSize", "()I", sockaddr_size),
	NATIVE("_getIbvRecvWRSize", "()I", recv_wr_size),
	NATIVE("_getIbvSendWRSize", "()I", send_wr_size),
	NATIVE("_getIbvSgeSize", "()I", sge_size),
	NATIVE("_getIbvWCSize", "()I", wc_size),
	NATIVE("_getRemoteAddressOffset", "()I", remote_address_offset),
	NATIVE("_getRKeyOffset", "()I", rkey_offset),
	NATIVE("_getVersion", "()I", version),
};

const struct native_methods layout_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

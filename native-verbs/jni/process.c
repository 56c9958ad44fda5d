/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of this process: the limit of locked memory, the software device's secret and counters. */
#include "natives.h"

#include <assert.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_ipc_lock(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	memset(data, 0, sizeof(data));
	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	return data[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK);
}

static jlong limit_bytes(rlim_t limit)
{
	return limit > (rlim_t)INT64_MAX ? INT64_MAX : (jlong)limit;
}

static jboolean memlock_limit(JNIEnv *env, jclass natives, jlongArray out)
{
	struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
	jlong values[2];

	(void)natives;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	values[0] = limit_bytes(limit.rlim_cur);
	values[1] = limit_bytes(limit.rlim_max);
	(*env)->SetLongArrayRegion(env, out, 0, ARRAY_SIZE(values), values);
	return has_ipc_lock() ? JNI_TRUE : JNI_FALSE;
}

static jint with_secret(JNIEnv *env, jbyteArray secret, int (*call)(const void *, size_t))
{
	jbyte *bytes = (*env)->GetByteArrayElements(env, secret, NULL);
	jsize length = (*env)->GetArrayLength(env, secret);
	int error;

	if (!bytes)
		return ENOMEM;
	error = call(bytes, (size_t)length);
	(*env)->ReleaseByteArrayElements(env, secret, bytes, JNI_ABORT);
	return error;
}

static jint set_secret(JNIEnv *env, jclass natives, jbyteArray secret)
{
	(void)natives;
	return with_secret(env, secret, verbs.softverbs_set_secret);
}

static jint accept_secret(JNIEnv *env, jclass natives, jbyteArray secret)
{
	(void)natives;
	return with_secret(env, secret, verbs.softverbs_accept_secret);
}

static jint forget_secret(JNIEnv *env, jclass natives, jbyteArray secret)
{
	(void)natives;
	return with_secret(env, secret, verbs.softverbs_forget_secret);
}

static void soft_counters(JNIEnv *env, jclass natives, jlongArray out)
{
	struct softverbs_counters counters;
	const jsize words = 24;
	int error;

	(void)natives;
	/* Java's SoftCounters has the first fields in this order; later ones are for programs that ask for them. */
	static_assert(offsetof(struct softverbs_counters, fallbacks) == 23 * sizeof(uint64_t), "SoftCounters.FIELDS");
	memset(&counters, 0, sizeof(counters));
	error = verbs.softverbs_get_counters(&counters, sizeof(counters));
	if (error) {
		throw_verbs(env, "softverbs_get_counters", error);
		return;
	}
	(*env)->SetLongArrayRegion(env, out, 0, words, (const jlong *)&counters);
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("memlockLimit", "([J)Z", memlock_limit),
	NATIVE("setSecret", "([B)I", set_secret),
	NATIVE("acceptSecret", "([B)I", accept_secret),
	NATIVE("forgetSecret", "([B)I", forget_secret),
	NATIVE("softCounters", "([J)V", soft_counters),
};

const struct native_methods process_natives = {natives_methods, ARRAY_SIZE(natives_methods)};

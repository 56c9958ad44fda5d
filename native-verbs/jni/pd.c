/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

static jlong disni_alloc_pd(JNIEnv *env, jobject self, jlong context)
{
	struct ibv_pd *pd = verbs.ibv_alloc_pd(to_pointer(context));

	(void)self;
	if (!pd) {
		throw_disni(env, "allocPd", "ibv_alloc_pd", errno);
		return -1;
	}
	return to_handle(pd);
}

static jint disni_dealloc_pd(JNIEnv *env, jobject self, jlong pd)
{
	(void)env;
	(void)self;
	return pd ? verbs.ibv_dealloc_pd(to_pointer(pd)) : -1;
}

static jint disni_get_pd_handle(JNIEnv *env, jobject self, jlong handle)
{
	struct ibv_pd *pd = to_pointer(handle);

	(void)env;
	(void)self;
	return pd ? (jint)pd->handle : -1;
}

static const JNINativeMethod disni_methods[] = {
	NATIVE("_allocPd", "(J)J", disni_alloc_pd),
	NATIVE("_deallocPd", "(J)I", disni_dealloc_pd),
	NATIVE("_getPdHandle", "(J)I", disni_get_pd_handle),
};

const struct native_methods pd_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

/* Unlike ibv_reg_mr of older libraries this leaves out optional flags that the kernel does not know. */
static jlong register_memory(JNIEnv *env, jclass natives, jlong pd, jlong address, jlong length,
			     jint access)
{
	struct ibv_mr *mr = verbs.ibv_reg_mr_iova2(to_pointer(pd), to_pointer(address), (size_t)length,
						   (uint64_t)address, (unsigned int)access);

	(void)natives;
	if (!mr)
		throw_verbs(env, "ibv_reg_mr", errno);
	return to_handle(mr);
}

static jlong register_file(JNIEnv *env, jclass natives, jlong pd, jlong address, jlong length,
			   jint fd, jlong file_offset, jint access)
{
	struct ibv_mr *mr;

	if (!verbs.softverbs_reg_file_mr)
		return register_memory(env, natives, pd, address, length, access);
	mr = verbs.softverbs_reg_file_mr(to_pointer(pd), to_pointer(address), (size_t)length, fd,
					 (uint64_t)file_offset, access);
	if (!mr)
		throw_verbs(env, "softverbs_reg_file_mr", errno);
	return to_handle(mr);
}

static jboolean serves_files(JNIEnv *env, jclass natives)
{
	(void)env;
	(void)natives;
	return verbs.softverbs_reg_file_mr != NULL;
}

static jint memory_key(JNIEnv *env, jclass natives, jlong handle, jboolean remote)
{
	struct ibv_mr *mr = to_pointer(handle);

	(void)env;
	(void)natives;
	return (jint)(remote ? mr->rkey : mr->lkey);
}

static jlong disni_reg_mr(JNIEnv *env, jobject self, jlong pd, jlong address, jint length,
			  jint access, jlong lkey_out, jlong rkey_out, jlong handle_out)
{
	struct ibv_mr *mr = NULL;
	int error = EINVAL;

	(void)self;
	if (pd && length >= 0 && lkey_out && rkey_out && handle_out) {
		mr = verbs.ibv_reg_mr(to_pointer(pd), to_pointer(address), (size_t)length, access);
		error = errno;
	}
	if (!mr) {
		throw_disni(env, "regMr", "ibv_reg_mr", error);
		return -1;
	}
	*(uint32_t *)to_pointer(lkey_out) = mr->lkey;
	*(uint32_t *)to_pointer(rkey_out) = mr->rkey;
	*(uint32_t *)to_pointer(handle_out) = mr->handle;
	return to_handle(mr);
}

static void disni_dereg_mr(JNIEnv *env, jobject self, jlong mr)
{
	int error = mr ? verbs.ibv_dereg_mr(to_pointer(mr)) : EINVAL;

	(void)self;
	if (error)
		throw_disni(env, "deregMr", "ibv_dereg_mr", error);
}

/* -1 where the device has no on-demand paging. */
static jint disni_exp_prefetch_mr(JNIEnv *env, jobject self, jlong handle, jlong address,
				  jint length)
{
	struct ibv_mr *mr = to_pointer(handle);
	struct ibv_sge range;
	int error;

	(void)self;
	if (!mr || length < 0)
		return -1;
	range.addr = (uint64_t)address;
	range.length = (uint32_t)length;
	range.lkey = mr->lkey;
	error = ibv_advise_mr(mr->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &range, 1);
	/* EINVAL: the region is not on demand, so its pages are there already. */
	if (error && error != EOPNOTSUPP && error != EINVAL)
		throw_disni(env, "expPrefetchMr", "ibv_advise_mr", error);
	return error ? -1 : 0;
}

static const JNINativeMethod natives_methods[] = {
	NATIVE("registerMemory", "(JJJI)J", register_memory),
	NATIVE("registerFile", "(JJJIJI)J", register_file),
	NATIVE("servesFiles", "()Z", serves_files),
	NATIVE("memoryKey", "(JZ)I", memory_key),
};

static const JNINativeMethod disni_methods[] = {
	NATIVE("_regMr", "(JJIIJJJ)J", disni_reg_mr),
	NATIVE("_deregMr", "(J)V", disni_dereg_mr),
	NATIVE("_expPrefetchMr", "(JJI)I", disni_exp_prefetch_mr),
};

const struct native_methods mr_natives = {natives_methods, ARRAY_SIZE(natives_methods)};
const struct native_methods mr_disni = {disni_methods, ARRAY_SIZE(disni_methods)};

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "natives.h"

#include <stdio.h>
#include <string.h>

#define NATIVES_CLASS "org/shufflerdma/verbs/Natives"
#define EXCEPTION_CLASS "org/shufflerdma/verbs/VerbsException"

/* Written by JNI_OnLoad, before any native can run. */
static jclass exception_class;
static jmethodID exception_constructor;

static const struct native_methods *const natives_tables[] = {
	&device_natives, &cm_event_natives,   &cm_id_natives,  &mr_natives,	 &cq_natives,
	&qp_natives,	 &qp_state_natives,  &read_batch_natives, &memory_natives, &process_natives,
};

static const struct native_methods *const disni_tables[] = {
	&device_disni, &cm_event_disni, &cm_id_disni, &pd_disni,
	&mr_disni,     &cq_disni,	&qp_disni,    &layout_disni,
};

static void throw_exception(JNIEnv *env, const char *call, const char *message, int error)
{
	jstring java_message;
	jstring java_call;
	jobject exception;

	/* Whatever cannot be made leaves its own exception pending, which then stands. */
	if ((*env)->ExceptionCheck(env))
		return;
	java_message = (*env)->NewStringUTF(env, message);
	java_call = java_message ? (*env)->NewStringUTF(env, call) : NULL;
	if (!java_call)
		return;
	exception = (*env)->NewObject(env, exception_class, exception_constructor, java_message,
				      java_call, (jint)error);
	if (!(*env)->ExceptionCheck(env))
		(*env)->Throw(env, (jthrowable)exception);
}

static const char *error_text(int error, char *buffer, size_t size)
{
	return strerror_r(error, buffer, size);
}

void throw_verbs(JNIEnv *env, const char *call, int error)
{
	char text[128];
	char message[256];

	snprintf(message, sizeof(message), "%s failed: %s (errno %d)", call,
		 error_text(error, text, sizeof(text)), error);
	throw_exception(env, call, message, error);
}

void throw_disni(JNIEnv *env, const char *native, const char *call, int error)
{
	char text[128];
	char message[256];

	snprintf(message, sizeof(message), "j2c::%s: %s failed: %s", native, call,
		 error_text(error, text, sizeof(text)));
	throw_exception(env, call, message, error);
}

void throw_message(JNIEnv *env, const char *call, const char *message)
{
	throw_exception(env, call, message, 0);
}

static int register_all(JNIEnv *env, jclass class, const struct native_methods *const *tables,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		jint result = (*env)->RegisterNatives(env, class, tables[i]->methods,
						      tables[i]->count);
		if (result != JNI_OK)
			return -1;
	}
	return 0;
}

static void register_dispatcher(JNIEnv *env, jclass natives, jclass dispatcher)
{
	(void)natives;
	/* What does not fit leaves NoSuchMethodError pending. */
	(void)register_all(env, dispatcher, disni_tables, ARRAY_SIZE(disni_tables));
}

static void bind_provider(JNIEnv *env, jclass natives, jstring soft_library)
{
	char reason[PROVIDER_REASON_MAX];
	const char *file = NULL;
	int result;

	(void)natives;
	if (soft_library) {
		file = (*env)->GetStringUTFChars(env, soft_library, NULL);
		if (!file)
			return;
	}
	result = provider_bind(file, reason);
	if (file)
		(*env)->ReleaseStringUTFChars(env, soft_library, file);
	if (result != 0)
		throw_message(env, "dlopen", reason);
}

static jstring java_error_text(JNIEnv *env, jclass natives, jint error)
{
	char text[128];

	(void)natives;
	return (*env)->NewStringUTF(env, error_text(error, text, sizeof(text)));
}

static const JNINativeMethod library_methods[] = {
	NATIVE("registerDispatcher", "(Ljava/lang/Class;)V", register_dispatcher),
	NATIVE("bindProvider", "(Ljava/lang/String;)V", bind_provider),
	NATIVE("errorText", "(I)Ljava/lang/String;", java_error_text),
};

static int find_exception(JNIEnv *env)
{
	jclass local = (*env)->FindClass(env, EXCEPTION_CLASS);

	if (!local)
		return -1;
	exception_class = (jclass)(*env)->NewGlobalRef(env, local);
	(*env)->DeleteLocalRef(env, local);
	if (!exception_class)
		return -1;
	exception_constructor = (*env)->GetMethodID(env, exception_class, "<init>",
						    "(Ljava/lang/String;Ljava/lang/String;I)V");
	return exception_constructor ? 0 : -1;
}

JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM *vm, void *reserved)
{
	const struct native_methods own = {library_methods, ARRAY_SIZE(library_methods)};
	const struct native_methods *own_tables[] = {&own};
	JNIEnv *env;
	jclass natives;

	(void)reserved;
	if ((*vm)->GetEnv(vm, (void **)&env, JNI_VERSION_1_8) != JNI_OK)
		return JNI_ERR;
	if (find_exception(env) != 0)
		return JNI_ERR;
	natives = (*env)->FindClass(env, NATIVES_CLASS);
	if (!natives)
		return JNI_ERR;
	if (register_all(env, natives, own_tables, 1) != 0 ||
	    register_all(env, natives, natives_tables, ARRAY_SIZE(natives_tables)) != 0)
		return JNI_ERR;
	(*env)->DeleteLocalRef(env, natives);
	return JNI_VERSION_1_8;
}

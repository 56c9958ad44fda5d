/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of libdisni.so share. Each file has a table of the natives it implements: those of
 * org.shufflerdma.verbs.Natives (static) and those of DiSNI's NativeDispatcher (instance methods,
 * leading underscore). Handles are the C pointers themselves; Java owns and checks them, except
 * that DiSNI's destroyers and getters answer a null handle with -1 as they always did.
 */
#ifndef DISNI_NATIVES_H
#define DISNI_NATIVES_H

#include <errno.h>
#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "provider.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define NATIVE(name, signature, function) {(char *)(uintptr_t)(name), (char *)(uintptr_t)(signature), (void *)(uintptr_t)(function)}

struct native_methods {
	const JNINativeMethod *methods;
	int count;
};

/* One for each file with natives of that class. */
extern const struct native_methods device_natives, cm_event_natives, cm_id_natives, mr_natives,
	cq_natives, qp_natives, qp_state_natives, read_batch_natives, memory_natives, process_natives;
extern const struct native_methods device_disni, cm_event_disni, cm_id_disni, pd_disni, mr_disni,
	cq_disni, qp_disni, layout_disni;

static inline void *to_pointer(jlong handle)
{
	return (void *)(uintptr_t)handle;
}

static inline jlong to_handle(const void *pointer)
{
	return (jlong)(uintptr_t)pointer;
}

/* Throws VerbsException "<call> failed: <text> (errno N)". The caller returns at once. */
void throw_verbs(JNIEnv *env, const char *call, int error);

/* Throws VerbsException "j2c::<native>: <call> failed: <text>", as DiSNI's natives word it. */
void throw_disni(JNIEnv *env, const char *native, const char *call, int error);

/* Throws VerbsException with this message and no errno. */
void throw_message(JNIEnv *env, const char *call, const char *message);

/*
 * Waits until fd can be read: 1, 0 after the timeout (negative: none), or -errno. Goes on after
 * signals with the time that is left.
 */
int wait_readable(int fd, int timeout_ms);

/* O_NONBLOCK on, 0 or -1 and errno. */
int set_nonblocking(int fd);

#endif

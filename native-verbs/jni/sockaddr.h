/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DISNI_SOCKADDR_H
#define DISNI_SOCKADDR_H

#include <jni.h>
#include <sys/socket.h>

/* Builds a socket address from 4 or 16 address bytes; 0 or -1 if there are others. */
int sockaddr_from_java(JNIEnv *env, jbyteArray address, jint scope_id, jint port,
		       struct sockaddr_storage *out);

/* Takes it apart; the length of the address, 0 if it is none. */
jint sockaddr_to_java(JNIEnv *env, const struct sockaddr *address, jbyteArray out,
		      jintArray port_and_scope);

#endif

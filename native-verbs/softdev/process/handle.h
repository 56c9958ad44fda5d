/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of handles. The `handle` field of a verbs object is an index that must lead back to the object; otherwise the
 * object is stale (ENOENT). The sizes of the tables are the limits that the device reports.
 */
#ifndef SOFTDEV_HANDLE_H
#define SOFTDEV_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum handle_kind { HANDLE_PD, HANDLE_CQ, HANDLE_CHANNEL, HANDLE_CONTEXT, HANDLE_TD, HANDLE_SRQ, HANDLE_AH,
		   HANDLE_KINDS };

enum { MAX_PDS = 4096, MAX_CQS = 4096, MAX_CHANNELS = 4096, MAX_CONTEXTS = 256, MAX_SRQS = 4096,
       MAX_AHS = 65536, MAX_TDS = 4096 };

/* Returns a new handle, or -ENOMEM when the limit is reached. */
int64_t handle_add(enum handle_kind kind, void *object);
/* Returns a new object of zeros with its handle; NULL and errno on failure. */
void *handle_new(enum handle_kind kind, size_t bytes, uint32_t *handle);
bool handle_is(enum handle_kind kind, uint32_t handle, const void *object);
/* Frees a handle. 0; ENOENT if it does not belong to that object, or EBUSY while it has users (NULL: it never has). */
int handle_remove(enum handle_kind kind, uint32_t handle, const void *object, const atomic_int *users);
/* Visits every object of a kind, with the table locked. */
void handle_for_each(enum handle_kind kind, void (*visit)(void *object, void *argument), void *argument);

#endif

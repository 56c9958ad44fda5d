/* SPDX-License-Identifier: Apache-2.0 */
#include "process/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static const uint32_t limits[HANDLE_KINDS] = {
	[HANDLE_PD] = MAX_PDS,
	[HANDLE_CQ] = MAX_CQS,
	[HANDLE_CHANNEL] = MAX_CHANNELS,
	[HANDLE_CONTEXT] = MAX_CONTEXTS,
	[HANDLE_TD] = MAX_TDS,
	[HANDLE_SRQ] = MAX_SRQS,
	[HANDLE_AH] = MAX_AHS,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	void **objects;
	uint32_t next; /* where the search for a free one starts, so that handles are not reused at once */
} tables[HANDLE_KINDS];

int64_t handle_add(enum handle_kind kind, void *object)
{
	int64_t handle = -ENOMEM;

	pthread_mutex_lock(&lock);
	if (!tables[kind].objects)
		tables[kind].objects = calloc(limits[kind], sizeof(void *));
	for (uint32_t i = 0; tables[kind].objects && i < limits[kind] && handle < 0; i++) {
		uint32_t candidate = (tables[kind].next + i) % limits[kind];

		if (!tables[kind].objects[candidate])
			handle = candidate;
	}
	if (handle >= 0) {
		tables[kind].objects[handle] = object;
		tables[kind].next = handle + 1;
	}
	pthread_mutex_unlock(&lock);
	return handle;
}

bool handle_is(enum handle_kind kind, uint32_t handle, const void *object)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = handle < limits[kind] && tables[kind].objects && tables[kind].objects[handle] == object;
	pthread_mutex_unlock(&lock);
	return is;
}

bool handle_remove(enum handle_kind kind, uint32_t handle, const void *object)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = handle < limits[kind] && tables[kind].objects && tables[kind].objects[handle] == object;
	if (is)
		tables[kind].objects[handle] = NULL;
	pthread_mutex_unlock(&lock);
	return is;
}

void handle_for_each(enum handle_kind kind, void (*visit)(void *object, void *argument), void *argument)
{
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; tables[kind].objects && i < limits[kind]; i++)
		if (tables[kind].objects[i])
			visit(tables[kind].objects[i], argument);
	pthread_mutex_unlock(&lock);
}

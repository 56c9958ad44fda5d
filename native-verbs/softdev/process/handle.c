/* SPDX-License-Identifier: Apache-2.0 */
#include "process/handle.h"

#include "engine.h"

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

struct handle_state {
	pthread_mutex_t lock;
	struct {
		void **objects;
		uint32_t next; /* where the search for a free one starts, so that handles are not reused at once */
	} tables[HANDLE_KINDS];
};

ENGINE_PART(handle, NULL);

int64_t handle_add(enum handle_kind kind, void *object)
{
	int64_t handle = -ENOMEM;

	pthread_mutex_lock(&engine->handle->lock);
	if (!engine->handle->tables[kind].objects)
		engine->handle->tables[kind].objects = calloc(limits[kind], sizeof(void *));
	for (uint32_t i = 0; engine->handle->tables[kind].objects && i < limits[kind] && handle < 0; i++) {
		uint32_t candidate = (engine->handle->tables[kind].next + i) % limits[kind];

		if (!engine->handle->tables[kind].objects[candidate])
			handle = candidate;
	}
	if (handle >= 0) {
		engine->handle->tables[kind].objects[handle] = object;
		engine->handle->tables[kind].next = handle + 1;
	}
	pthread_mutex_unlock(&engine->handle->lock);
	return handle;
}

bool handle_is(enum handle_kind kind, uint32_t handle, const void *object)
{
	bool is;

	pthread_mutex_lock(&engine->handle->lock);
	is = handle < limits[kind] && engine->handle->tables[kind].objects && engine->handle->tables[kind].objects[handle] == object;
	pthread_mutex_unlock(&engine->handle->lock);
	return is;
}

bool handle_remove(enum handle_kind kind, uint32_t handle, const void *object)
{
	bool is;

	pthread_mutex_lock(&engine->handle->lock);
	is = handle < limits[kind] && engine->handle->tables[kind].objects && engine->handle->tables[kind].objects[handle] == object;
	if (is)
		engine->handle->tables[kind].objects[handle] = NULL;
	pthread_mutex_unlock(&engine->handle->lock);
	return is;
}

void handle_for_each(enum handle_kind kind, void (*visit)(void *object, void *argument), void *argument)
{
	pthread_mutex_lock(&engine->handle->lock);
	for (uint32_t i = 0; engine->handle->tables[kind].objects && i < limits[kind]; i++)
		if (engine->handle->tables[kind].objects[i])
			visit(engine->handle->tables[kind].objects[i], argument);
	pthread_mutex_unlock(&engine->handle->lock);
}

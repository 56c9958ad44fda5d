/* SPDX-License-Identifier: Apache-2.0 */
#include "process/handle.h"

#include "core.h"
#include "engine.h"
#include "lock.h"

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
	struct handle_table {
		void **objects;
		uint32_t next; /* the search for a free handle starts here, so that handles are not reused at once */
	} tables[HANDLE_KINDS];
};

ENGINE_PART(handle, NULL);

int64_t handle_add(enum handle_kind kind, void *object)
{
	struct handle_table *table = &engine->handle->tables[kind];

	HOLD_LOCK(&engine->handle->lock);
	if (!table->objects)
		table->objects = calloc(limits[kind], sizeof(void *));
	for (uint32_t i = 0; table->objects && i < limits[kind]; i++) {
		uint32_t handle = (table->next + i) % limits[kind];

		if (table->objects[handle])
			continue;
		table->objects[handle] = object;
		table->next = handle + 1;
		return handle;
	}
	return -ENOMEM;
}

void *handle_new(enum handle_kind kind, size_t bytes, uint32_t *handle)
{
	void *object = calloc(1, bytes);
	int64_t added = object ? handle_add(kind, object) : -ENOMEM;

	if (added < 0) {
		free(object);
		return null_with(-added);
	}
	*handle = added;
	return object;
}

/* Called with the lock held. */
static bool is_at(enum handle_kind kind, uint32_t handle, const void *object)
{
	void **objects = engine->handle->tables[kind].objects;

	return handle < limits[kind] && objects && objects[handle] == object;
}

bool handle_is(enum handle_kind kind, uint32_t handle, const void *object)
{
	HOLD_LOCK(&engine->handle->lock);
	return is_at(kind, handle, object);
}

int handle_remove(enum handle_kind kind, uint32_t handle, const void *object, const atomic_int *users)
{
	HOLD_LOCK(&engine->handle->lock);
	if (!is_at(kind, handle, object))
		return errno = ENOENT;
	if (users && atomic_load(users))
		return errno = EBUSY;
	engine->handle->tables[kind].objects[handle] = NULL;
	return 0;
}

void handle_for_each(enum handle_kind kind, void (*visit)(void *object, void *argument), void *argument)
{
	HOLD_LOCK(&engine->handle->lock);
	for (uint32_t i = 0; engine->handle->tables[kind].objects && i < limits[kind]; i++)
		if (engine->handle->tables[kind].objects[i])
			visit(engine->handle->tables[kind].objects[i], argument);
}

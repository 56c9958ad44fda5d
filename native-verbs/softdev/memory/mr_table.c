/* SPDX-License-Identifier: Apache-2.0 */
#include "memory/mr_table.h"

#include "engine.h"
#include "lock.h"
#include "memory/peer_table.h"
#include "process/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define SLOT_VALID 0x80000000u

struct mr_slot {
	_Atomic uint32_t state; /* SLOT_VALID and the number of holders */
	struct softdev_mr *mr;  /* stable while held */
};

struct mr_table_state {
	struct mr_slot *slots; /* TABLE_MR_SLOTS; slot 0 is never used, so that key 0 is never valid */
	uint32_t *keys;	       /* for peers that may read this memory: the rkey of what each slot shows */
	pthread_mutex_t lock;  /* guards what follows, slot allocation, and mr->windows */
	uint32_t next_slot;
	uint64_t next_generation;
};

static bool init_part(void *part)
{
	struct mr_table_state *state = part;

	state->slots = calloc(TABLE_MR_SLOTS, sizeof(*state->slots));
	state->keys = calloc(TABLE_MR_SLOTS, sizeof(*state->keys));
	state->next_slot = 1;
	return state->slots && state->keys;
}

ENGINE_PART(mr_table, init_part);

/* Returns a free slot, or 0 if there is none. Called with the lock held. */
static uint32_t find_slot(void)
{
	for (uint32_t i = 0; i < TABLE_MR_SLOTS; i++) {
		uint32_t slot = (engine->mr_table->next_slot + i) % TABLE_MR_SLOTS;

		if (slot && !engine->mr_table->slots[slot].mr) {
			engine->mr_table->next_slot = slot + 1;
			return slot;
		}
	}
	return 0;
}

static void choose_keys(struct softdev_mr *mr, uint32_t slot)
{
	uint16_t random[2];

	do
		random_bytes(random, sizeof(random));
	while (random[0] == random[1]);
	mr->base.lkey = slot << 16 | random[0];
	mr->base.rkey = slot << 16 | random[1];
}

int mr_table_add(struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	uint32_t slot = find_slot();

	if (!slot)
		return ENOMEM;
	mr->base.handle = slot;
	choose_keys(mr, slot);
	engine->mr_table->slots[slot].mr = mr;
	return 0;
}

/*
 * Shows the region to the peers under a generation never used before. They see its place only if they may READ it.
 * Called with the lock held.
 */
static void publish(struct softdev_mr *mr)
{
	struct mr_entry *entry = &own_table()->mr[mr->base.handle];
	bool readable;

	if (!engine->mr_table->next_generation)
		random_bytes(&engine->mr_table->next_generation, 4);
	engine->mr_table->next_generation += 2;
	mr->generation = engine->mr_table->next_generation | 1;
	readable = mr->access & IBV_ACCESS_REMOTE_READ;
	entry->iova = readable ? mr->iova : 0;
	entry->length = mr->length;
	entry->address = readable ? (uintptr_t)mr->address : 0;
	entry->file_offset = readable ? mr->file_offset : 0;
	entry->pd = mr->pd->id;
	entry->access = mr->access;
	entry->has_file = mr->file_fd >= 0;
	entry->bound_qp = mr->bound_qp;
	engine->mr_table->keys[mr->base.handle] = mr->base.rkey;
	own_table()->keys_address = (uintptr_t)engine->mr_table->keys;
	/* pairs with the acquire load in target.c */
	atomic_store_explicit(&entry->generation, mr->generation, memory_order_release);
}

void mr_table_show(struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	publish(mr);
	atomic_fetch_or_explicit(&engine->mr_table->slots[mr->base.handle].state, SLOT_VALID, memory_order_release);
}

/* Called with the lock held. */
static bool is_in(uint32_t slot, const struct softdev_mr *mr)
{
	return slot && slot < TABLE_MR_SLOTS && engine->mr_table->slots[slot].mr == mr;
}

/* Called with the lock held. */
static bool is_visible(uint32_t slot, const struct softdev_mr *mr)
{
	return is_in(slot, mr) && (atomic_load(&engine->mr_table->slots[slot].state) & SLOT_VALID);
}

/* A region is held for one bounded copy (1 MiB). Returns false if that takes about a second: its disk has stopped. */
static bool wait_for_holders(const struct mr_slot *slot)
{
	static const struct timespec pause = {.tv_nsec = 20000};
	int cancel = cancel_put_off(), tries = 15000;

	while (atomic_load_explicit(&slot->state, memory_order_acquire) && tries--)
		nanosleep(&pause, NULL);
	cancel_restore(cancel);
	return !atomic_load_explicit(&slot->state, memory_order_acquire);
}

static int stop_showing(struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	if (!is_in(mr->base.handle, mr))
		return ENOENT;
	if (mr->windows)
		return EBUSY;
	atomic_store(&own_table()->mr[mr->base.handle].generation, mr->generation + 1);
	atomic_fetch_and(&engine->mr_table->slots[mr->base.handle].state, ~SLOT_VALID);
	return 0;
}

int mr_table_hide(struct softdev_mr *mr)
{
	int error = stop_showing(mr);

	if (error)
		return error;
	/* Every reader sees the end of the generation before anything that the caller writes afterwards. */
	atomic_thread_fence(memory_order_seq_cst);
	return wait_for_holders(&engine->mr_table->slots[mr->base.handle]) ? 0 : EAGAIN;
}

void mr_table_remove(struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	engine->mr_table->slots[mr->base.handle].mr = NULL;
}

bool mr_table_has(uint32_t slot, const struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	return is_in(slot, mr);
}

bool mr_table_bind(uint32_t slot, struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	bool is = is_visible(slot, mr);

	if (is)
		mr->windows++;
	return is;
}

void mr_table_unbind(struct softdev_mr *mr)
{
	HOLD_LOCK(&engine->mr_table->lock);
	mr->windows--;
}

struct softdev_mr *mr_table_hold(uint32_t key)
{
	struct mr_slot *slot = &engine->mr_table->slots[key >> 16];
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	do {
		if (!(state & SLOT_VALID))
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&slot->state, &state, state + 1,
							memory_order_acquire, memory_order_relaxed));
	return slot->mr;
}

int mr_acquire(const struct softdev_pd *pd, enum key_kind kind, uint32_t key, uint64_t address,
	       uint64_t length, unsigned int access, struct softdev_mr **out)
{
	struct softdev_mr *mr = mr_table_hold(key);

	if (!mr)
		return -EACCES;
	if (!mr_permits(mr, pd, kind, key, address, length, access)) {
		mr_release(mr);
		return -EACCES;
	}
	*out = mr;
	return 0;
}

int mr_acquire_for(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t address, uint64_t length,
		   unsigned int access, struct softdev_mr **out)
{
	int error = mr_acquire(pd, KEY_REMOTE, rkey, address, length, access, out);

	if (!error && (*out)->bound_qp && (*out)->bound_qp != qp) {
		mr_release(*out);
		error = -EACCES;
	}
	return error;
}

void mr_release(struct softdev_mr *mr)
{
	atomic_fetch_sub_explicit(&engine->mr_table->slots[mr->base.handle].state, 1, memory_order_release);
}

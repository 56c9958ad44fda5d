/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/counters.h"

#include "core.h"
#include "engine.h"
#include "lock.h"
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CACHE_LINE = 64 };

/* A shard outlives its thread. The next thread that takes it continues its counts. */
struct shard {
	struct softverbs_counters counters;
	struct shard *next;
	bool taken;
} __attribute__((aligned(CACHE_LINE)));

_Thread_local struct softverbs_counters *counters_of_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* the shard of each thread */

struct counters_state {
	pthread_mutex_t lock; /* a leaf; guards the list and who has taken what */
	struct shard *shards;
	struct shard *for_want_of_memory; /* shared by threads that get no other; may miss counts */
};

static bool init_part(void *part)
{
	struct counters_state *state = part;
	struct shard *shard = aligned_alloc(CACHE_LINE, sizeof(*shard));

	if (!shard)
		return false;
	*shard = (struct shard){.taken = true};
	state->shards = state->for_want_of_memory = shard;
	counters_of_thread = NULL;
	return true;
}

ENGINE_PART(counters, init_part);

static void leave(void *taken)
{
	struct shard *shard = taken;

	counters_of_thread = NULL;
	HOLD_LOCK(&engine->counters->lock);
	shard->taken = false;
}

static void create_key(void)
{
	pthread_key_create(&key, leave);
}

/* Called with the lock held. */
static struct shard *take(void)
{
	struct shard *shard = engine->counters->shards;

	while (shard && shard->taken)
		shard = shard->next;
	if (shard)
		return shard;
	shard = aligned_alloc(CACHE_LINE, sizeof(*shard));
	if (!shard)
		return NULL;
	*shard = (struct shard){.next = engine->counters->shards};
	__atomic_store_n(&engine->counters->shards, shard, __ATOMIC_RELEASE);
	return shard;
}

struct softverbs_counters *counters_begin(void)
{
	struct shard *shard;

	pthread_once(&once, create_key);
	HOLD_LOCK(&engine->counters->lock);
	shard = take();
	if (shard && !pthread_setspecific(key, shard))
		shard->taken = true;
	else
		shard = engine->counters->for_want_of_memory;
	counters_of_thread = &shard->counters;
	return counters_of_thread;
}

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
#define FIELD(name) {#name, offsetof(struct softverbs_counters, name)}
	FIELD(pd_live),	       FIELD(pd_ever),
	FIELD(mr_live),	       FIELD(mr_ever),
	FIELD(cq_live),	       FIELD(cq_ever),
	FIELD(qp_live),	       FIELD(qp_ever),
	FIELD(send_wr_posted), FIELD(send_wr_signalled),
	FIELD(reads_file),     FIELD(read_bytes_file),
	FIELD(reads_cma),      FIELD(read_bytes_cma),
	FIELD(reads_wire),     FIELD(read_bytes_wire),
	FIELD(reads_served_wire), FIELD(read_bytes_served_wire),
	FIELD(writes),	       FIELD(write_bytes),
	FIELD(sends),	       FIELD(send_bytes),
	FIELD(connections),    FIELD(fallbacks),
	FIELD(srq_live),       FIELD(atomics),
	FIELD(mw_live),
	FIELD(connections_tcp),
	FIELD(reads_tcp),      FIELD(read_bytes_tcp),
#undef FIELD
};

enum { FIELD_COUNT = sizeof(fields) / sizeof(fields[0]) };

_Static_assert(FIELD_COUNT * sizeof(uint64_t) == sizeof(struct softverbs_counters), "a field is missing");

uint64_t counters_total(size_t offset)
{
	struct shard *shard = __atomic_load_n(&engine->counters->shards, __ATOMIC_ACQUIRE);
	uint64_t sum = 0;

	for (; shard; shard = shard->next)
		sum += __atomic_load_n((uint64_t *)(void *)((char *)&shard->counters + offset),
				       __ATOMIC_RELAXED);
	return sum;
}

int softverbs_get_counters(struct softverbs_counters *out, size_t size)
{
	if (!out || engine_check())
		return out ? ENOMEM : EINVAL;
	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		if (fields[i].offset + sizeof(uint64_t) <= size)
			*(uint64_t *)(void *)((char *)out + fields[i].offset) = counters_total(fields[i].offset);
	return 0;
}

static bool anything_counted(void)
{
	uint64_t any = 0;

	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		any |= counters_total(fields[i].offset);
	return any;
}

/* The line is written by one call, so that the lines of several processes do not mix. */
__attribute__((destructor)) static void write_stats(void)
{
	const char *path = secure_getenv("SOFTVERBS_STATS");
	char line[2048];
	int fd, used = snprintf(line, sizeof(line), "{\"pid\":%d", (int)getpid());

	if (!path || !engine || (engine->inherited && !anything_counted()))
		return; /* nobody asks, or it is the child of a fork that never used the device */
	for (unsigned int i = 0; i < FIELD_COUNT; i++)
		used += snprintf(line + used, sizeof(line) - used, ",\"%s\":%" PRIu64, fields[i].name,
				 counters_total(fields[i].offset));
	used += snprintf(line + used, sizeof(line) - used, "}\n");
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, used) != used)
		log_error("SOFTVERBS_STATS=%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

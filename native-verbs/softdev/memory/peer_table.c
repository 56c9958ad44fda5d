/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory/peer_table.h"

#include "core.h"
#include "engine.h"
#include "process/log.h"
#include "process/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef __GLIBC__
#error "peer_table_alive() reads the lock word of a pthread_mutex_t, which is known of glibc alone"
#endif

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

_Static_assert(sizeof(struct mr_entry) == 64, "layout");
_Static_assert(sizeof(struct qp_entry) == 16, "layout");
_Static_assert(offsetof(struct shared_table, mr) == 4096, "layout");

struct peer_table_state {
	pthread_once_t once;
	struct shared_table *own;
	int own_fd;
	int own_error;
	struct progress_task hold;
};

static void hold_liveness(void *unused);

static bool init_part(void *part)
{
	struct peer_table_state *state = part;

	state->own_fd = -1;
	state->hold.callback = hold_liveness;
	return true;
}

ENGINE_PART(peer_table, init_part);

static int init_liveness(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attr;
	int error;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	error = pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	return error;
}

/*
 * Runs on the progress thread before that thread can send the table to a peer, and holds the mutex until the thread
 * ends. Nobody else takes the mutex, so trylock is enough, and the order of locks does not matter.
 */
static void hold_liveness(void *unused)
{
	(void)unused;
	pthread_mutex_trylock(&engine->peer_table->own->liveness);
}

static void create_own(void)
{
	struct shared_table *own;
	char path[64];
	int fd = memfd_create("softverbs", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		goto failed;
	if (ftruncate(fd, sizeof(*own)))
		goto close_fd;
	own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (own == MAP_FAILED)
		goto close_fd;
	madvise(own, sizeof(*own), MADV_DONTFORK);
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		goto unmap;
	/* The descriptor of the peers is read-only, but without this seal they could open its file anew for writing. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE))
		log_warn("this kernel cannot seal the table of regions (Linux 5.1 can): processes of this user that are connected "
			 "could change it, and so what others READ by a short cut");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	engine->peer_table->own_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (engine->peer_table->own_fd < 0)
		goto unmap;
	engine->peer_table->own_error = init_liveness(&own->liveness);
	own->magic = TABLE_MAGIC;
	own->version = TABLE_VERSION;
	own->bytes = sizeof(*own);
	memcpy(own->nonce, process_nonce(), sizeof(own->nonce));
	engine->peer_table->own = own;
	progress_post(&engine->peer_table->hold);
	close(fd);
	return;

unmap:
	munmap(own, sizeof(*own));
close_fd:
	engine->peer_table->own_error = errno;
	close(fd);
failed:
	if (!engine->peer_table->own_error)
		engine->peer_table->own_error = errno;
	log_error("cannot create the table of regions: %s%s", strerror(engine->peer_table->own_error),
		  engine->peer_table->own_error == ENOENT ? " (it takes /proc: mount it)" : "");
}

struct shared_table *own_table(void)
{
	pthread_once(&engine->peer_table->once, create_own);
	if (!engine->peer_table->own)
		errno = engine->peer_table->own_error;
	return engine->peer_table->own;
}

int own_table_fd(void)
{
	return own_table() ? engine->peer_table->own_fd : -1;
}

const struct shared_table *peer_table_map(int fd, const uint8_t *nonce)
{
	const struct shared_table *table = NULL;
	struct statx status;
	int seals = fcntl(fd, F_GET_SEALS);

	/* Without SEAL_SHRINK the peer could truncate the table, and reading it would raise SIGBUS. */
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		goto close_fd;
	if (statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &status) || status.stx_size < sizeof(*table))
		goto close_fd;
	table = mmap(NULL, sizeof(*table), PROT_READ, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED) {
		table = NULL;
		goto close_fd;
	}
	madvise((void *)(uintptr_t)table, sizeof(*table), MADV_DONTFORK);
	if (table->magic != TABLE_MAGIC || table->version != TABLE_VERSION ||
	    memcmp(table->nonce, nonce, PROCESS_NONCE_BYTES)) {
		peer_table_unmap(table);
		table = NULL;
	}
close_fd:
	close(fd);
	return table;
}

void peer_table_unmap(const struct shared_table *table)
{
	munmap((void *)(uintptr_t)table, sizeof(*table));
}

bool peer_table_alive(const struct shared_table *table)
{
	/* The kernel sets OWNER_DIED in the lock word of a robust mutex. */
	const _Atomic uint32_t *word = (const _Atomic uint32_t *)(const void *)&table->liveness.__data.__lock;
	uint32_t value = atomic_load_explicit(word, memory_order_acquire);

	return (value & FUTEX_TID_MASK) && !(value & FUTEX_OWNER_DIED);
}

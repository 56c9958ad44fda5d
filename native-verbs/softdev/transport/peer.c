/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "transport/peer.h"

#include "engine.h"
#include "link/link.h"
#include "lock.h"
#include "process/list.h"
#include "process/log.h"
#include "process/settings.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

/* MAX_FILES: of one peer. FILES_SHARE: all peers together have this part of the descriptors of the process. */
enum { KEY_BUCKETS = 256, MAX_FILES = 1024, MAX_KEYS = 8192, FILES_SHARE = 8 };

struct peer_file {
	struct peer_file *next; /* in the same bucket */
	uint32_t rkey;
	uint64_t generation;
	struct list used; /* in peer->used */
	bool right; /* the key opens the region */
	int fd;	    /* -1 if there is none */
	int holders;
	bool dropped; /* no longer in the cache; the last holder frees it */
};

struct peer {
	struct peer *next;
	uint8_t nonce[LINK_NONCE_BYTES];
	pid_t pid;
	uint64_t nonce_address; /* in its memory */
	atomic_int references; /* changes from 1 to 0 only under the lock of all peers */
	atomic_bool cma;
	const struct shared_table *table;
	pthread_mutex_t lock; /* guards the files */
	struct peer_file *files[KEY_BUCKETS];
	int key_count, file_count; /* files: those that have a descriptor */
	struct list used[2];	   /* without and with a descriptor, the one that was used last at the end */
};

struct peer_state {
	pthread_mutex_t lock;
	struct peer *peers;
	atomic_ulong files; /* descriptors of files of all peers */
	atomic_bool told;   /* what it costs that process_vm_readv cannot be used */
};

ENGINE_PART(peer, NULL);

static void tell_of_no_cma(pid_t pid, const char *why)
{
	log_write(atomic_exchange(&engine->peer->told, true) ? LOG_WARN : LOG_ERROR,
		  "peer %d: process_vm_readv cannot be used (%s): READs of its memory go as frames, which is slower", (int)pid, why);
}

/*
 * Called with the lock of all peers held. The nonce is not secret, so the peer must also be the process that the kernel
 * reports.
 */
static struct peer *find(const uint8_t *nonce, pid_t pid)
{
	for (struct peer *peer = engine->peer->peers; peer; peer = peer->next)
		if (peer->pid == pid && !memcmp(peer->nonce, nonce, LINK_NONCE_BYTES))
			return peer;
	return NULL;
}

struct peer *peer_open(const uint8_t *nonce, pid_t pid, uint64_t nonce_address, int table_fd)
{
	HOLD_LOCK(&engine->peer->lock);
	struct peer *peer = find(nonce, pid);

	if (peer) {
		atomic_fetch_add(&peer->references, 1);
		close(table_fd);
		return peer;
	}
	peer = calloc(1, sizeof(*peer));
	if (!peer) {
		close(table_fd);
		return NULL;
	}
	peer->table = peer_table_map(table_fd, nonce);
	if (!peer->table) {
		free(peer);
		return NULL;
	}
	memcpy(peer->nonce, nonce, sizeof(peer->nonce));
	peer->pid = pid;
	peer->nonce_address = nonce_address;
	atomic_init(&peer->references, 1);
	atomic_init(&peer->cma, pid > 0 && path_mode() != PATH_FILE);
	if (pid <= 0 && path_mode() != PATH_FILE)
		tell_of_no_cma(pid, "it is in another PID namespace");
	peer->next = engine->peer->peers;
	engine->peer->peers = peer;
	return peer;
}

struct peer *peer_hold(struct peer *peer)
{
	atomic_fetch_add_explicit(&peer->references, 1, memory_order_relaxed);
	return peer;
}

static void free_file(struct peer_file *file)
{
	if (file->fd >= 0) {
		close(file->fd);
		atomic_fetch_sub(&engine->peer->files, 1);
	}
	free(file);
}

static void drop_file(struct peer *peer, struct peer_file **link)
{
	struct peer_file *file = *link;

	*link = file->next;
	list_remove(&file->used);
	file->dropped = true;
	peer->key_count--;
	peer->file_count -= file->fd >= 0;
	if (!file->holders)
		free_file(file);
}

void peer_release(struct peer *peer)
{
	struct peer **link = &engine->peer->peers;
	int references = atomic_load_explicit(&peer->references, memory_order_relaxed);

	while (references > 1)
		if (atomic_compare_exchange_weak_explicit(&peer->references, &references, references - 1,
							  memory_order_release, memory_order_relaxed))
			return;
	pthread_mutex_lock(&engine->peer->lock);
	if (atomic_fetch_sub(&peer->references, 1) > 1) {
		pthread_mutex_unlock(&engine->peer->lock);
		return;
	}
	while (*link != peer)
		link = &(*link)->next;
	*link = peer->next;
	pthread_mutex_unlock(&engine->peer->lock);
	peer_forget_files(peer);
	peer_table_unmap(peer->table);
	free(peer);
}

const struct shared_table *peer_table(const struct peer *peer)
{
	return peer->table;
}

pid_t peer_pid(const struct peer *peer)
{
	return peer->pid;
}

bool peer_has_cma(const struct peer *peer)
{
	return atomic_load_explicit(&peer->cma, memory_order_relaxed);
}

void peer_note_cma_error(struct peer *peer, int error)
{
	if ((error != EPERM && error != ENOSYS) || !atomic_exchange(&peer->cma, false))
		return;
	tell_of_no_cma(peer->pid, strerror(error));
	peer_forget_files(peer); /* so that the peer is asked about them, and passes their files */
}

static struct peer_file **bucket_of(struct peer *peer, uint32_t rkey)
{
	return &peer->files[(rkey >> 16) % KEY_BUCKETS];
}

/* Called with peer->lock held. */
static void note_use(struct peer *peer, struct peer_file *file)
{
	list_remove(&file->used);
	list_add(&peer->used[file->fd >= 0], &file->used);
}

static enum peer_file_state hold_known(struct peer *peer, const struct target *target, struct peer_file **out)
{
	HOLD_LOCK(&peer->lock);
	enum peer_file_state state = PEER_KEY_UNKNOWN;
	struct peer_file *file = *bucket_of(peer, target->rkey);

	while (file && (file->rkey != target->rkey || file->generation != target->generation))
		file = file->next;
	if (file) {
		note_use(peer, file);
		state = !file->right ? PEER_KEY_WRONG : file->fd < 0 ? PEER_FILE_NONE : PEER_FILE_HELD;
	}
	if (state == PEER_FILE_HELD && out) {
		file->holders++;
		*out = file;
	}
	return state;
}

/* With the peer's nonce, by which another process that has its pid by now is told from it. */
static void look_up_key(struct peer *peer, const struct target *target)
{
	struct {
		uint8_t nonce[LINK_NONCE_BYTES];
		uint32_t key;
	} found;
	struct iovec local = {&found, sizeof(found)};
	struct iovec remote[] = {{(void *)(uintptr_t)peer->nonce_address, sizeof(found.nonce)},
				 {(uint32_t *)(uintptr_t)peer->table->keys_address + (target->rkey >> 16), sizeof(found.key)}};
	ssize_t bytes = process_vm_readv(peer->pid, &local, 1, remote, 2, 0);
	bool right = bytes == sizeof(found) && !memcmp(found.nonce, peer->nonce, sizeof(found.nonce));

	if (bytes < 0)
		peer_note_cma_error(peer, errno);
	if (bytes > 0 && !right) /* the pid is another process's */
		atomic_store(&peer->cma, false);
	target_copied();
	if (right && target_unchanged(target))
		peer_file_add(peer, target->rkey, target->generation, found.key == target->rkey, -1);
	if (!peer_has_cma(peer)) /* or since another thread was refused: the peer is to be asked, and passes the file */
		peer_forget_files(peer);
}

enum peer_file_state peer_file_hold(struct peer *peer, const struct target *target, struct peer_file **file)
{
	enum peer_file_state state = hold_known(peer, target, file);

	if (state != PEER_KEY_UNKNOWN || !file || !peer_has_cma(peer))
		return state;
	look_up_key(peer, target);
	return hold_known(peer, target, file);
}

int peer_file_fd(const struct peer_file *file)
{
	return file->fd;
}

void peer_file_release(struct peer *peer, struct peer_file *file)
{
	HOLD_LOCK(&peer->lock);
	if (--file->holders == 0 && file->dropped)
		free_file(file);
}

/* Drops the one that has been unused for longest. Called with peer->lock held. */
static void evict_oldest(struct peer *peer, bool with_file)
{
	struct peer_file *oldest = LIST_FIRST(&peer->used[with_file], struct peer_file, used);
	struct peer_file **link = bucket_of(peer, oldest->rkey);

	while (*link != oldest)
		link = &(*link)->next;
	drop_file(peer, link);
}

/*
 * Called with peer->lock held. Drops what belongs to an earlier generation of the slot. Returns true if the key is
 * already known.
 */
static bool make_place(struct peer *peer, uint32_t rkey, uint64_t generation)
{
	struct peer_file **link = bucket_of(peer, rkey);
	bool known = false;

	while (*link) {
		if ((*link)->rkey >> 16 == rkey >> 16 && (*link)->generation != generation) {
			drop_file(peer, link);
			continue;
		}
		known |= (*link)->rkey == rkey;
		link = &(*link)->next;
	}
	return known;
}

/* Returns false if the files of peers have their share of the process's descriptors already. */
static bool take_descriptor(void)
{
	struct rlimit limit;
	unsigned long held = atomic_fetch_add(&engine->peer->files, 1);

	if (getrlimit(RLIMIT_NOFILE, &limit) || held < limit.rlim_cur / FILES_SHARE)
		return true;
	atomic_fetch_sub(&engine->peer->files, 1);
	return false;
}

void peer_file_add(struct peer *peer, uint32_t rkey, uint64_t generation, bool right, int fd)
{
	struct peer_file **bucket = bucket_of(peer, rkey);
	struct peer_file *file = calloc(1, sizeof(*file));

	HOLD_LOCK(&peer->lock);
	if (make_place(peer, rkey, generation) || !file) { /* two QPs have asked for it */
		free(file);
		if (fd >= 0)
			close(fd);
		return;
	}
	if (fd >= 0 && peer->file_count >= MAX_FILES)
		evict_oldest(peer, true);
	if (fd >= 0 && !take_descriptor()) {
		close(fd);
		fd = -1; /* the READs go over the wire */
	}
	if (peer->key_count >= MAX_KEYS) /* most of them are without, for MAX_FILES is smaller */
		evict_oldest(peer, false);
	*file = (struct peer_file){
		.next = *bucket,
		.rkey = rkey,
		.generation = generation,
		.right = right,
		.fd = fd,
	};
	*bucket = file;
	note_use(peer, file);
	peer->key_count++;
	peer->file_count += fd >= 0;
}

void peer_forget_files(struct peer *peer)
{
	HOLD_LOCK(&peer->lock);
	for (int i = 0; i < KEY_BUCKETS; i++)
		while (peer->files[i])
			drop_file(peer, &peer->files[i]);
}

/* Returns true if the region has changed since the peer passed its file. */
static bool is_stale(const struct peer *peer, const struct peer_file *file)
{
	return atomic_load(&peer->table->mr[file->rkey >> 16].generation) != file->generation;
}

void peer_files_revoke(struct peer *peer)
{
	HOLD_LOCK(&peer->lock);
	for (int i = 0; i < KEY_BUCKETS; i++)
		for (struct peer_file **link = &peer->files[i]; *link;)
			if (is_stale(peer, *link))
				drop_file(peer, link);
			else
				link = &(*link)->next;
}

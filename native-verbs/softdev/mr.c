/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "mr.h"

#include "counters.h"
#include "device.h"
#include "exports.h"
#include "fault.h"
#include "file_share.h"
#include "handle.h"
#include "log.h"
#include "peer_table.h"
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLOT_VALID 0x80000000u

enum {
	KNOWN_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		       IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
		       IBV_ACCESS_HUGETLB | IBV_ACCESS_OPTIONAL_RANGE,
};

/* Slot 0 is never used, so that key 0 is never valid. */
static struct mr_slot {
	_Atomic uint32_t state; /* SLOT_VALID and the number of holders */
	struct softdev_mr *mr;  /* stable while held */
} slots[TABLE_MR_SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and slot allocation */
static uint32_t next_slot = 1;
static uint64_t next_generation;
static uint64_t registered_bytes;

static bool is_mapped(const void *address, size_t length)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)address & ~(page - 1);
	uintptr_t end = ((uintptr_t)address + length + page - 1) & ~(page - 1);

	/* MS_ASYNC writes nothing: it only walks the mappings and fails at a hole. */
	return !msync((void *)start, end - start, MS_ASYNC);
}

/*
 * Real devices pin for writing, which fails where the process itself may not write. The ends stand for the rest: what
 * lies between them was mapped in one piece, as a rule.
 */
static bool may_access(const char *address, uint64_t length, unsigned int access)
{
	return is_mapped(address, length) &&
	       (!(access & IBV_ACCESS_LOCAL_WRITE) ||
		(probe_writable(address) && probe_writable(address + length - 1)));
}

static int check_arguments(const struct ibv_pd *pd, const void *address, uint64_t length, uint64_t iova,
			   unsigned int access)
{
	if (access & IBV_ACCESS_ON_DEMAND)
		return EOPNOTSUPP;
	if (access & ~(unsigned int)KNOWN_ACCESS)
		return EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (!length || length > DEVICE_MAX_MR_BYTES || (uintptr_t)address + length < (uintptr_t)address ||
	    iova + length < iova)
		return EINVAL;
	if (!handle_is(HANDLE_PD, pd->handle, pd))
		return ENOENT;
	return may_access(address, length, access) ? 0 : EFAULT;
}

/* lock held. Real devices pin: RLIMIT_MEMLOCK bounds them. Here only on request. */
static bool memlock_allows(uint64_t length)
{
	const char *setting = getenv("SOFTVERBS_MEMLOCK");
	struct rlimit limit;

	if (!setting || strcmp(setting, "enforce") || getrlimit(RLIMIT_MEMLOCK, &limit))
		return true;
	return limit.rlim_cur == RLIM_INFINITY || registered_bytes + length <= limit.rlim_cur;
}

/* lock held. A free slot, 0 if there is none. */
static uint32_t find_slot(void)
{
	for (uint32_t i = 0; i < TABLE_MR_SLOTS; i++) {
		uint32_t slot = (next_slot + i) % TABLE_MR_SLOTS;

		if (slot && !slots[slot].mr) {
			next_slot = slot + 1;
			return slot;
		}
	}
	return 0;
}

/* lock held. Shows the region to the peers, under a generation never used before. */
static void publish(struct softdev_mr *mr)
{
	struct mr_entry *entry = &own_table()->mr[mr->base.handle];

	if (!next_generation)
		random_bytes(&next_generation, 4);
	next_generation += 2;
	mr->generation = next_generation | 1;
	entry->iova = mr->iova;
	entry->length = mr->length;
	entry->address = (uintptr_t)mr->address;
	entry->file_offset = mr->file_offset;
	entry->rkey = mr->base.rkey;
	entry->pd = mr->pd->id;
	entry->access = mr->access;
	entry->has_file = mr->file_fd >= 0;
	/* pairs with the acquire load in shortcut.c */
	atomic_store_explicit(&entry->generation, mr->generation, memory_order_release);
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

/* 0 or an errno. */
static int enter(struct softdev_mr *mr)
{
	uint32_t slot;
	int error = 0;

	pthread_mutex_lock(&lock);
	if (!memlock_allows(mr->length)) {
		error = ENOMEM;
	} else if (!(slot = find_slot())) {
		error = ENOMEM;
	} else {
		mr->base.handle = slot;
		choose_keys(mr, slot);
		registered_bytes += mr->length;
		slots[slot].mr = mr;
		publish(mr);
		atomic_store_explicit(&slots[slot].state, SLOT_VALID, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static struct ibv_mr *register_mr(struct ibv_pd *pd, void *address, uint64_t length, uint64_t iova,
				  unsigned int access, int file_fd, uint64_t file_offset)
{
	struct softdev_mr *mr;
	int error = process_is_forked_child() ? EIO : check_arguments(pd, address, length, iova, access);

	if (!error)
		error = fault_call(FAULT_REG_MR, .length = length);
	if (!error && !own_table())
		error = errno;
	if (error)
		goto failed;
	mr = calloc(1, sizeof(*mr));
	if (!mr) {
		error = ENOMEM;
		goto failed;
	}
	mr->base.context = pd->context;
	mr->base.pd = pd;
	mr->base.addr = address;
	mr->base.length = length;
	mr->pd = to_pd(pd);
	mr->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	mr->length = length;
	mr->address = address;
	mr->access = access;
	mr->file_fd = file_fd;
	mr->file_offset = file_offset;
	error = enter(mr);
	if (error)
		goto free_mr;
	atomic_fetch_add(&mr->pd->users, 1);
	COUNT(mr_live);
	COUNT(mr_ever);
	return &mr->base;

free_mr:
	free(mr);
failed:
	errno = error;
	return NULL;
}

struct ibv_mr *softverbs_ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, unsigned int access)
{
	return register_mr(pd, addr, length, iova, access, -1, 0);
}

struct ibv_mr *softverbs_ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					 int access)
{
	return register_mr(pd, addr, length, iova, access, -1, 0);
}

struct ibv_mr *softverbs_ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return register_mr(pd, addr, length, (uintptr_t)addr, access, -1, 0);
}

/* A read-only open of what fd is; -1 if that cannot be had, then peers read without the file. */
static int reopen_read_only(int fd)
{
	char path[64];
	int file_fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (file_fd < 0) {
		log_warn("file region without a file: %s: %s", path, strerror(errno));
		COUNT(fallbacks);
	}
	return file_fd;
}

struct ibv_mr *softverbs_reg_file_mr(struct ibv_pd *pd, void *addr, size_t length, int fd,
				     uint64_t file_offset, int access)
{
	struct statx status;
	struct ibv_mr *mr;
	int file_fd, error;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE, &status))
		return NULL;
	if (!S_ISREG(status.stx_mode) || file_offset + length < file_offset ||
	    file_offset + length > status.stx_size) {
		errno = EINVAL;
		return NULL;
	}
	file_fd = reopen_read_only(fd);
	mr = register_mr(pd, addr, length, (uintptr_t)addr, access, file_fd, file_offset);
	if (!mr && file_fd >= 0) {
		error = errno;
		close(file_fd);
		errno = error;
	}
	return mr;
}

/* Copies are bounded (1 MiB), so the wait is. */
static void wait_for_holders(struct mr_slot *slot)
{
	static const struct timespec pause = {.tv_nsec = 20000};

	while (atomic_load_explicit(&slot->state, memory_order_acquire))
		nanosleep(&pause, NULL);
}

int softverbs_ibv_dereg_mr(struct ibv_mr *base)
{
	struct softdev_mr *mr = container_of_(base, struct softdev_mr, base);
	struct mr_slot *slot;
	struct mr_entry *entry;
	int error;

	error = process_is_forked_child() ? EIO : fault_call(FAULT_DEREG_MR, .length = mr->length);
	if (error)
		return error;
	if (!base->handle || base->handle >= TABLE_MR_SLOTS)
		return ENOENT;
	slot = &slots[base->handle];
	entry = &own_table()->mr[base->handle];
	pthread_mutex_lock(&lock);
	if (slot->mr != mr || !(atomic_load(&slot->state) & SLOT_VALID)) {
		pthread_mutex_unlock(&lock);
		return ENOENT;
	}
	/* Seen by every reader before anything that is written afterwards, here or by the caller. */
	atomic_store(&entry->generation, mr->generation + 1);
	atomic_thread_fence(memory_order_seq_cst);
	atomic_fetch_and(&slot->state, ~SLOT_VALID);
	pthread_mutex_unlock(&lock);

	wait_for_holders(slot);
	if (atomic_load(&mr->file_shared))
		file_share_revoke(base->handle, mr->generation);
	if (mr->file_fd >= 0)
		close(mr->file_fd);
	pthread_mutex_lock(&lock);
	slot->mr = NULL;
	registered_bytes -= mr->length;
	pthread_mutex_unlock(&lock);
	atomic_fetch_sub(&mr->pd->users, 1);
	COUNT_DOWN(mr_live);
	free(mr);
	return 0;
}

/* The region in a slot, held, or NULL. */
static struct softdev_mr *hold_slot(struct mr_slot *slot)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	do {
		if (!(state & SLOT_VALID))
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&slot->state, &state, state + 1,
							memory_order_acquire, memory_order_relaxed));
	return slot->mr;
}

int mr_share_file(const struct softdev_pd *pd, uint32_t slot, uint64_t generation)
{
	struct softdev_mr *mr = slot < TABLE_MR_SLOTS ? hold_slot(&slots[slot]) : NULL;
	int fd = -ENOENT;

	if (!mr)
		return fd;
	if (mr->generation == generation && pd_same(mr->pd, pd) && (mr->access & IBV_ACCESS_REMOTE_READ) &&
	    mr->file_fd >= 0) {
		fd = fcntl(mr->file_fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			fd = -errno;
		else
			atomic_store(&mr->file_shared, true);
	}
	mr_release(mr);
	return fd;
}

int mr_acquire(const struct softdev_pd *pd, enum key_kind kind, uint32_t key, uint64_t address,
	       uint64_t length, unsigned int access, struct softdev_mr **out)
{
	struct softdev_mr *mr = hold_slot(&slots[key >> 16]);

	if (!mr)
		return -EACCES;
	if (!mr_permits(mr, pd, kind, key, address, length, access)) {
		mr_release(mr);
		return -EACCES;
	}
	*out = mr;
	return 0;
}

void mr_release(struct softdev_mr *mr)
{
	atomic_fetch_sub_explicit(&slots[mr->base.handle].state, 1, memory_order_release);
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory/mr.h"

#include "device/device.h"
#include "engine.h"
#include "exports.h"
#include "fault/fault.h"
#include "lock.h"
#include "memory/mr_table.h"
#include "memory/peer_table.h"
#include "memory/probe.h"
#include "process/cancel.h"
#include "process/counters.h"
#include "process/handle.h"
#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct mr_state {
	pthread_mutex_t lock;
	uint64_t registered_bytes; /* guarded by lock */
};

ENGINE_PART(mr, NULL);

static bool is_mapped(const void *address, size_t length)
{
	uintptr_t page = sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)address & ~(page - 1);
	uintptr_t end = ((uintptr_t)address + length + page - 1) & ~(page - 1);
	int cancel = cancel_put_off();
	/* MS_ASYNC writes nothing: it only walks the mappings and fails at a hole. */
	bool whole = !msync((void *)start, end - start, MS_ASYNC);

	cancel_restore(cancel);
	return whole;
}

/*
 * Real devices pin for writing, which fails where the process itself may not write. Only the ends are probed, because
 * the memory between them was, as a rule, mapped in one piece.
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
	bool on_demand = access & IBV_ACCESS_ON_DEMAND;
	bool implicit = on_demand && !address && !iova && length == SIZE_MAX; /* the whole address space */
	uint64_t page = sysconf(_SC_PAGESIZE);

	if (access & ~(unsigned int)MR_ACCESS_FLAGS)
		return EINVAL;
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (!implicit && (length > DEVICE_MAX_MR_BYTES || (uintptr_t)address + length < (uintptr_t)address ||
			  iova + length < iova))
		return EINVAL;
	if (((uintptr_t)address ^ iova) & (page - 1)) /* the kernel's rule: devices translate pages */
		return EINVAL;
	if (!handle_is(HANDLE_PD, pd->handle, pd))
		return ENOENT;
	return on_demand || !length || may_access(address, length, access) ? 0 : EFAULT;
}

/* Returns the number of bytes that a real device would pin. */
static uint64_t pinned(unsigned int access, uint64_t length)
{
	return access & IBV_ACCESS_ON_DEMAND ? 0 : length;
}

/*
 * Counts `length` registered bytes in place of `old` bytes. RLIMIT_MEMLOCK bounds what real devices pin; here it does so
 * only on request. Returns false if the limit would be exceeded.
 */
static bool charge(uint64_t old, uint64_t length)
{
	const char *setting = secure_getenv("SOFTVERBS_MEMLOCK");
	bool enforced = setting && !strcmp(setting, "enforce");
	struct rlimit limit;

	HOLD_LOCK(&engine->mr->lock);
	if (length > old && enforced && !getrlimit(RLIMIT_MEMLOCK, &limit) && limit.rlim_cur != RLIM_INFINITY &&
	    engine->mr->registered_bytes - old + length > limit.rlim_cur)
		return false;
	engine->mr->registered_bytes += length - old;
	return true;
}

/* Gives the region its keys and shows it. 0 or a positive errno. */
static int enter(struct softdev_mr *mr)
{
	int error;

	if (!charge(0, pinned(mr->access, mr->length)))
		return ENOMEM;
	error = mr_table_add(mr);
	if (error)
		charge(pinned(mr->access, mr->length), 0);
	else
		mr_table_show(mr);
	return error;
}

static struct ibv_mr *register_mr(struct ibv_pd *pd, void *address, uint64_t length, uint64_t iova,
				  unsigned int access, int file_fd, uint64_t file_offset)
{
	struct softdev_mr *mr;
	int error = is_inherited(pd->context) ? EIO : check_arguments(pd, address, length, iova, access);

	if (!error)
		error = fault_call(FAULT_REG_MR, .length = length);
	if (!error && !own_table())
		error = errno;
	if (error)
		return null_with(error);
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return NULL;
	*mr = (struct softdev_mr){
		.base = {.context = pd->context, .pd = pd, .addr = address, .length = length},
		.pd = to_pd(pd),
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
		.length = length,
		.address = address,
		.access = access,
		.file_fd = file_fd,
		.file_offset = file_offset,
	};
	error = enter(mr);
	if (error) {
		free(mr);
		return null_with(error);
	}
	atomic_fetch_add(&mr->pd->users, 1);
	COUNT(mr_live);
	COUNT(mr_ever);
	return &mr->base;
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

/* Opens the file of fd for reading only. Returns -1 if that fails: peers then read without the file. */
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

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_SIZE | STATX_UID, &status))
		return NULL;
	if (!S_ISREG(status.stx_mode) || file_offset + length < file_offset ||
	    file_offset + length > status.stx_size)
		return null_with(EINVAL);
	file_fd = reopen_read_only(fd);
	mr = register_mr(pd, addr, length, (uintptr_t)addr, access, file_fd, file_offset);
	if (mr)
		container_of_(mr, struct softdev_mr, base)->hides_residency = status.stx_uid != geteuid();
	if (!mr && file_fd >= 0) {
		error = errno;
		close(file_fd);
		errno = error;
	}
	return mr;
}

/* Called when nobody holds the region and its generation is over, which tells the peers what descriptor to drop. */
static void revoke_file(struct softdev_mr *mr)
{
	if (atomic_exchange(&mr->file_shared, false))
		mr_file_revoked();
}

static void leave_file(struct softdev_mr *mr)
{
	revoke_file(mr);
	if (mr->file_fd >= 0)
		close(mr->file_fd);
	mr->file_fd = -1;
}

/*
 * The region is invisible to everybody while it changes; its keys stay. Returns 0, or a positive errno with the region
 * unchanged.
 */
static int change(struct softdev_mr *mr, int flags, struct ibv_pd *pd, void *address, uint64_t length,
		  unsigned int access)
{
	bool moves = flags & IBV_REREG_MR_CHANGE_TRANSLATION;
	uint64_t iova = moves ? (uintptr_t)address : mr->iova, old = pinned(mr->access, mr->length), new;
	int error;

	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		access = mr->access;
	if (!(flags & IBV_REREG_MR_CHANGE_PD))
		pd = mr->base.pd;
	if (!flags || pd->context != mr->base.context)
		return EINVAL;
	if (!moves) {
		address = mr->address;
		length = mr->length;
		if (mr->access & IBV_ACCESS_ZERO_BASED)
			iova = (uintptr_t)address;
	}
	error = check_arguments(pd, address, length, iova, access);
	if (error)
		return error;
	new = pinned(access, length);
	if (!charge(old, new))
		return ENOMEM;
	error = mr_table_hide(mr);
	if (error) {
		charge(new, old);
		if (error == EAGAIN)
			mr_table_show(mr);
		return error == EAGAIN ? EBUSY : error;
	}
	if (moves)
		leave_file(mr);
	else
		revoke_file(mr);
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		atomic_fetch_add(&to_pd(pd)->users, 1);
		atomic_fetch_sub(&mr->pd->users, 1);
		mr->pd = to_pd(pd);
		mr->base.pd = pd;
	}
	if (moves || (flags & IBV_REREG_MR_CHANGE_ACCESS))
		mr->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova;
	mr->base.addr = mr->address = address;
	mr->base.length = mr->length = length;
	mr->access = access;
	mr_table_show(mr);
	return 0;
}

int softverbs_ibv_rereg_mr(struct ibv_mr *base, int flags, struct ibv_pd *pd, void *addr, size_t length,
			   int access)
{
	struct softdev_mr *mr = container_of_(base, struct softdev_mr, base);

	if ((flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) ||
	    ((flags & IBV_REREG_MR_CHANGE_TRANSLATION) && (!addr || !length)) ||
	    ((flags & IBV_REREG_MR_CHANGE_PD) && !pd) || (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))) {
		errno = EINVAL;
		return IBV_REREG_MR_ERR_INPUT;
	}
	errno = is_inherited(mr->base.context) ? EIO : change(mr, flags, pd, addr, length, access);
	return errno ? IBV_REREG_MR_ERR_CMD : 0;
}

int softverbs_ibv_dereg_mr(struct ibv_mr *base)
{
	struct softdev_mr *mr = container_of_(base, struct softdev_mr, base);
	int error;

	error = is_inherited(base->context) ? EIO : fault_call(FAULT_DEREG_MR, .length = mr->length);
	if (error)
		return error;
	error = mr_table_hide(mr);
	if (error)
		return errno = error == EAGAIN ? EBUSY : error;
	leave_file(mr);
	mr_table_remove(mr);
	charge(pinned(mr->access, mr->length), 0);
	atomic_fetch_sub(&mr->pd->users, 1);
	COUNT_DOWN(mr_live);
	free(mr);
	return 0;
}

int mr_share_file(const struct softdev_pd *pd, uint64_t qp, uint32_t rkey, uint64_t generation, int *fd)
{
	struct softdev_mr *mr = mr_table_hold(rkey);
	int error = 0;

	*fd = -1;
	if (!mr)
		return -ESTALE;
	if (mr->generation != generation)
		error = -ESTALE;
	else if (!mr_permits(mr, pd, KEY_REMOTE, rkey, mr->iova, 0, IBV_ACCESS_REMOTE_READ) ||
		 (mr->bound_qp && mr->bound_qp != qp))
		error = -EACCES;
	else if (mr->file_fd >= 0)
		*fd = fcntl(mr->file_fd, F_DUPFD_CLOEXEC, 0);
	if (*fd >= 0)
		atomic_store(&mr->file_shared, true);
	mr_release(mr);
	return error;
}

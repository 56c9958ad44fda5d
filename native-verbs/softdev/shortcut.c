/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "shortcut.h"

#include "counters.h"
#include "fault.h"
#include "log.h"
#include "peer.h"

#include <errno.h>
#include <sys/uio.h>

/* What is known of the remote region while its generation stays the same. */
struct target {
	const struct mr_entry *entry;
	const struct qp_entry *qp;
	uint64_t generation, qp_generation;
	uint64_t address;     /* in the peer's memory */
	uint64_t file_offset; /* of the first byte, if has_file */
	bool has_file;
};

static bool is_unchanged(const struct target *target, const struct shared_table *table)
{
	/* The copy's reads come before these loads; pairs with ibv_dereg_mr and modify_qp of the peer. */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&target->entry->generation, memory_order_acquire) ==
		       target->generation &&
	       atomic_load_explicit(&target->qp->generation, memory_order_acquire) ==
		       target->qp_generation &&
	       atomic_load_explicit(&target->qp->readable, memory_order_acquire) &&
	       peer_table_alive(table);
}

/* Makes the checks that the responder would make. */
static bool find_target(const struct wqe *wqe, const struct shared_table *table, struct target *target)
{
	const struct mr_entry *entry = &table->mr[wqe->rkey >> 16];
	uint64_t iova, length;
	uint32_t rkey, pd, access;

	target->entry = entry;
	target->generation = atomic_load_explicit(&entry->generation, memory_order_acquire);
	iova = entry->iova;
	length = entry->length;
	rkey = entry->rkey;
	pd = entry->pd;
	access = entry->access;
	target->address = entry->address + (wqe->remote_addr - iova);
	target->file_offset = entry->file_offset + (wqe->remote_addr - iova);
	target->has_file = entry->has_file;
	return (target->generation & 1) && is_unchanged(target, table) && rkey == wqe->rkey &&
	       pd == target->qp->pd && (access & IBV_ACCESS_REMOTE_READ) && wqe->remote_addr >= iova &&
	       wqe->length <= length && wqe->remote_addr - iova <= length - wqe->length;
}

typedef ssize_t (*copy_function)(const struct iovec *iov, int count, uint64_t length, uint64_t from,
				 int source);

static ssize_t copy_from_file(const struct iovec *iov, int count, uint64_t length, uint64_t from, int fd)
{
	(void)length;
	return preadv(fd, iov, count, from);
}

static ssize_t copy_from_process(const struct iovec *iov, int count, uint64_t length, uint64_t from,
				 int pid)
{
	struct iovec remote = {(void *)(uintptr_t)from, length};

	return process_vm_readv(pid, iov, count, &remote, 1, 0);
}

/* 0, or -errno. Every slice holds its sink regions anew and looks at the state. */
static int copy_all(struct softdev_qp *qp, const struct wqe *wqe, copy_function copy, uint64_t from,
		    int source)
{
	struct iovec iov[SGE_MAX];
	struct sge_hold hold;
	uint64_t done = 0;

	while (done < wqe->length) {
		int count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, done, IBV_ACCESS_LOCAL_WRITE,
					   iov, SGE_MAX, &hold);
		uint64_t length = 0;
		ssize_t copied;

		if (count <= 0)
			return -EACCES;
		for (int i = 0; i < count; i++)
			length += iov[i].iov_len;
		copied = copy(iov, count, length, from + done, source);
		if (copied < 0)
			copied = -errno;
		sge_release(&hold);
		if (copied <= 0)
			return copied ? copied : -ENODATA;
		done += copied;
		if (done < wqe->length &&
		    atomic_load_explicit(&qp->state, memory_order_relaxed) != IBV_QPS_RTS)
			return -ECANCELED;
	}
	return 0;
}

static enum shortcut_result read_file(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				      const struct target *target, struct peer_file *file)
{
	int error = -fault_call(FAULT_FILE, .qpn = qp->base.qp_num, .length = wqe->length);

	if (!error)
		error = copy_all(qp, wqe, copy_from_file, target->file_offset, peer_file_fd(file));

	peer_file_release(peer, file);
	if (error || !is_unchanged(target, peer_table(peer)))
		return SHORTCUT_REFUSED;
	COUNT(reads_file);
	COUNT_ADD(read_bytes_file, wqe->length);
	return SHORTCUT_DONE;
}

static enum shortcut_result read_memory(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
					const struct target *target)
{
	int error = -fault_call(FAULT_CMA, .qpn = qp->base.qp_num, .length = wqe->length);

	if (!error)
		error = copy_all(qp, wqe, copy_from_process, target->address, peer_pid(peer));

	if (error == -EPERM || error == -ENOSYS) {
		log_warn("process_vm_readv is no longer allowed for peer %d", (int)peer_pid(peer));
		peer_drop_cma(peer);
	}
	if (error || !is_unchanged(target, peer_table(peer)))
		return SHORTCUT_REFUSED;
	COUNT(reads_cma);
	COUNT_ADD(read_bytes_cma, wqe->length);
	return SHORTCUT_DONE;
}

enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   uint32_t peer_qp_slot, uint64_t peer_qp_generation)
{
	const struct shared_table *table = peer_table(peer);
	struct target target = {.qp = &table->qp[peer_qp_slot], .qp_generation = peer_qp_generation};
	enum peer_file_state file_state = PEER_FILE_REFUSED;
	bool may_use_cma = path_mode() != PATH_FILE && peer_has_cma(peer);
	enum shortcut_result result;
	struct peer_file *file;

	if (!wqe->length || !find_target(wqe, table, &target))
		return SHORTCUT_REFUSED;
	if (target.has_file && path_mode() != PATH_CMA)
		file_state = peer_file_hold(peer, wqe->rkey >> 16, target.generation, &file);
	if (file_state == PEER_FILE_HELD)
		return read_file(qp, wqe, peer, &target, file);
	if (!may_use_cma)
		return file_state == PEER_FILE_UNKNOWN ? SHORTCUT_NEEDS_FILE : SHORTCUT_REFUSED;
	result = read_memory(qp, wqe, peer, &target);
	return result == SHORTCUT_DONE && file_state == PEER_FILE_UNKNOWN ? SHORTCUT_DONE_ASK_FILE : result;
}

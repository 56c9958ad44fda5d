/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "transport/shortcut.h"

#include "fault/fault.h"
#include "memory/target.h"
#include "process/counters.h"
#include "process/log.h"
#include "process/settings.h"
#include "transport/peer.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t shortcut_pread(int fd, const struct iovec *iov, int count, uint64_t offset)
{
	/* pread() is cheaper for a single buffer. */
	return count == 1 ? pread(fd, iov->iov_base, iov->iov_len, offset) : preadv(fd, iov, count, offset);
}

void shortcut_note_error(struct peer *peer, int error)
{
	if (error != EPERM && error != ENOSYS)
		return;
	log_warn("process_vm_readv is no longer allowed for peer %d", (int)peer_pid(peer));
	peer_drop_cma(peer);
}

static bool is_unchanged(const struct target_peer *peer, const struct target *target)
{
	target_copied();
	return target_unchanged(target) && target_peer_unchanged(peer);
}

typedef ssize_t (*copy_function)(const struct iovec *iov, int count, uint64_t length, uint64_t from,
				 int source);

static ssize_t copy_from_file(const struct iovec *iov, int count, uint64_t length, uint64_t from, int fd)
{
	(void)length;
	return shortcut_pread(fd, iov, count, from);
}

static ssize_t copy_from_process(const struct iovec *iov, int count, uint64_t length, uint64_t from,
				 int pid)
{
	struct iovec remote = {(void *)(uintptr_t)from, length};

	return process_vm_readv(pid, iov, count, &remote, 1, 0);
}

/* Copies the whole READ slice by slice. Each slice acquires its sink regions anew and checks the state. 0 or -errno. */
static int copy_all(struct softdev_qp *qp, const struct wqe *wqe, copy_function copy, uint64_t from,
		    int source)
{
	struct iovec iov[SGE_MAX];
	struct sge_hold hold;
	uint64_t done = 0;

	while (done < wqe->length) {
		int count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, done, wqe->length, IBV_ACCESS_LOCAL_WRITE,
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

static enum shortcut_result read_file(struct softdev_qp *qp, const struct wqe *wqe,
				      const struct target_peer *from, const struct target *target, int fd)
{
	const struct fault *fault = fault_check(FAULT_FILE, .qpn = qp->base.qp_num, .length = wqe->length);
	int error = fault ? -fault->error : 0;

	if (!error)
		error = copy_all(qp, wqe, copy_from_file, target_file_offset(target, wqe->remote_addr), fd);
	if (fault)
		fault_wait(fault);
	if (error || !is_unchanged(from, target))
		return SHORTCUT_REFUSED;
	COUNT_FOR(qp, reads_file, 1);
	COUNT_FOR(qp, read_bytes_file, wqe->length);
	return SHORTCUT_DONE;
}

static enum shortcut_result read_memory(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
					const struct target_peer *from, const struct target *target)
{
	const struct fault *fault = fault_check(FAULT_CMA, .qpn = qp->base.qp_num, .length = wqe->length);
	int error = fault ? -fault->error : 0;

	if (!error)
		error = copy_all(qp, wqe, copy_from_process, target_address(target, wqe->remote_addr),
				 peer_pid(peer));
	if (fault)
		fault_wait(fault);
	if (error)
		shortcut_note_error(peer, -error);
	if (error || !is_unchanged(from, target))
		return SHORTCUT_REFUSED;
	COUNT_FOR(qp, reads_cma, 1);
	COUNT_FOR(qp, read_bytes_cma, wqe->length);
	return SHORTCUT_DONE;
}

enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   uint32_t peer_qp_slot, uint64_t peer_qp_generation)
{
	const struct shared_table *table = peer_table(peer);
	const struct target_peer from = {table, &table->qp[peer_qp_slot], peer_qp_generation};
	bool may_use_cma = path_mode() != PATH_FILE && peer_has_cma(peer);
	enum shortcut_result result;
	struct peer_file *file;
	struct target target;

	if (!wqe->length || !target_find(&from, wqe->rkey, &target) ||
	    !target_covers(&target, wqe->remote_addr, wqe->length))
		return SHORTCUT_REFUSED;
	if (!may_use_cma && (!target.has_file || path_mode() == PATH_CMA))
		return SHORTCUT_REFUSED; /* whether or not the key is right */
	switch (peer_file_hold(peer, wqe->rkey, target.generation, &file)) {
	case PEER_FILE_HELD:
		result = read_file(qp, wqe, &from, &target, peer_file_fd(file));
		peer_file_release(peer, file);
		return result;
	case PEER_FILE_NONE:
		return may_use_cma ? read_memory(qp, wqe, peer, &from, &target) : SHORTCUT_REFUSED;
	case PEER_KEY_UNKNOWN:
		return SHORTCUT_UNKNOWN_KEY;
	case PEER_KEY_WRONG:
		break;
	}
	return SHORTCUT_REFUSED;
}

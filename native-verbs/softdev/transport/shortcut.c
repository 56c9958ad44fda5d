/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "transport/shortcut.h"

#include "fault/fault.h"
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

void shortcut_count(struct softdev_qp *qp, bool by_file, unsigned int reads, uint64_t bytes)
{
	if (by_file) {
		COUNT_FOR(qp, reads_file, reads);
		COUNT_FOR(qp, read_bytes_file, bytes);
	} else {
		COUNT_FOR(qp, reads_cma, reads);
		COUNT_FOR(qp, read_bytes_cma, bytes);
	}
}

/* Copies one slice from the file or, if that is NULL, from the peer's memory. Returns as read() does. */
static ssize_t copy(const struct peer *peer, const struct peer_file *file, const struct iovec *iov, int count,
		    uint64_t from)
{
	struct iovec remote = {(void *)(uintptr_t)from, 0};

	if (file)
		return shortcut_pread(peer_file_fd(file), iov, count, from);
	for (int i = 0; i < count; i++)
		remote.iov_len += iov[i].iov_len;
	return process_vm_readv(peer_pid(peer), iov, count, &remote, 1, 0);
}

/* Copies the whole READ slice by slice. Each slice acquires its sink regions anew and checks the state. 0 or -errno. */
static int copy_all(struct softdev_qp *qp, const struct wqe *wqe, const struct peer *peer, const struct peer_file *file,
		    uint64_t from)
{
	struct iovec iov[SGE_MAX];
	struct sge_hold hold;
	uint64_t done = 0;

	while (done < wqe->length) {
		int count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, done, wqe->length, IBV_ACCESS_LOCAL_WRITE,
					   iov, SGE_MAX, &hold);
		ssize_t copied;

		if (count <= 0)
			return -EACCES;
		copied = copy(peer, file, iov, count, from + done);
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

/* Reads from the file or, if that is NULL, from the peer's memory. */
static enum shortcut_result read_from(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				      const struct peer_file *file, const struct target_peer *from,
				      const struct target *target)
{
	const struct fault *fault =
		fault_check(file ? FAULT_FILE : FAULT_CMA, .qpn = qp->base.qp_num, .length = wqe->length);
	int error = fault ? -fault->error : 0;

	if (!error)
		error = copy_all(qp, wqe, peer, file, target_place(target, file, wqe->remote_addr));
	if (fault)
		fault_wait(fault);
	if (error && !file)
		shortcut_note_error(peer, -error);
	target_copied();
	if (error || !target_unchanged(target) || !target_peer_unchanged(from))
		return SHORTCUT_REFUSED;
	shortcut_count(qp, file, 1, wqe->length);
	return SHORTCUT_DONE;
}

enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   const struct target_peer *from)
{
	bool may_use_cma = path_mode() != PATH_FILE && peer_has_cma(peer);
	enum shortcut_result result;
	enum peer_file_state state;
	struct peer_file *file;
	struct target target;

	if (!wqe->length || !target_find(from, wqe->rkey, &target) ||
	    !target_covers(&target, wqe->remote_addr, wqe->length))
		return SHORTCUT_REFUSED;
	if (!may_use_cma && (!target.has_file || path_mode() == PATH_CMA))
		return SHORTCUT_REFUSED; /* whether or not the key is right */
	peer_lock_files(peer);
	state = peer_file_hold(peer, wqe->rkey, target.generation, &file);
	peer_unlock_files(peer);
	switch (state) {
	case PEER_FILE_HELD:
		result = read_from(qp, wqe, peer, file, from, &target);
		peer_lock_files(peer);
		peer_file_release(file);
		peer_unlock_files(peer);
		return result;
	case PEER_FILE_NONE:
		return may_use_cma ? read_from(qp, wqe, peer, NULL, from, &target) : SHORTCUT_REFUSED;
	case PEER_KEY_UNKNOWN:
		return SHORTCUT_UNKNOWN_KEY;
	case PEER_KEY_WRONG:
		break;
	}
	return SHORTCUT_REFUSED;
}

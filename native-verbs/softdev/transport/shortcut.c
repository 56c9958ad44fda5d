/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "transport/shortcut.h"

#include "fault/fault.h"
#include "process/counters.h"
#include "process/settings.h"
#include "queue/send_op.h"
#include "transport/peer.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LOOK_AHEAD = 4 * WIRE_KEYS };

ssize_t shortcut_pread(int fd, const struct iovec *iov, int count, uint64_t offset)
{
	/* pread() is cheaper for a single buffer. */
	return count == 1 ? pread(fd, iov->iov_base, iov->iov_len, offset) : preadv(fd, iov, count, offset);
}

void shortcut_count(bool by_file, unsigned int reads, uint64_t bytes)
{
	if (by_file) {
		COUNT_ADD(reads_file, reads);
		COUNT_ADD(read_bytes_file, bytes);
	} else {
		COUNT_ADD(reads_cma, reads);
		COUNT_ADD(read_bytes_cma, bytes);
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
		peer_note_cma_error(peer, -error);
	target_copied();
	if (error || !target_unchanged(target) || !target_peer_unchanged(from))
		return SHORTCUT_REFUSED;
	shortcut_count(file, 1, wqe->length);
	return SHORTCUT_DONE;
}

/* Returns true if the READ can be served without the responder, should its key be right. */
static bool may_serve(const struct peer *peer, const struct target_peer *from, const struct wqe *wqe,
		      struct target *target)
{
	return wqe->length && target_find(from, wqe->rkey, target) &&
	       target_covers(target, wqe->remote_addr, wqe->length) &&
	       (peer_has_cma(peer) || (target->has_file && path_mode() != PATH_CMA));
}

struct target_peer shortcut_source(const struct softdev_qp *qp)
{
	const struct shared_table *table = peer_table(qp->requester.peer);

	return (struct target_peer){table, &table->qp[qp->requester.peer_slot], qp->requester.peer_generation};
}

static bool is_among(uint32_t rkey, const struct wire_key *keys, unsigned int count)
{
	while (count && keys[count - 1].rkey != rkey)
		count--;
	return count;
}

unsigned int shortcut_unknown_keys(struct softdev_qp *qp, struct wire_key *keys)
{
	struct peer *peer = qp->requester.peer;
	const struct target_peer from = shortcut_source(qp);
	unsigned int count = 0;
	struct target target;

	for (uint32_t i = qp->sq.exec; i != qp->sq.post && i - qp->sq.exec < LOOK_AHEAD && count < WIRE_KEYS; i++) {
		struct wqe *wqe = sq_at(qp, i);

		if (wqe->op->wire == WIRE_READ && !wqe->via_wire && !wqe->key_asked && may_serve(peer, &from, wqe, &target) &&
		    peer_file_hold(peer, &target, NULL) == PEER_KEY_UNKNOWN) {
			wqe->key_asked = true;
			if (!is_among(wqe->rkey, keys, count))
				keys[count++] = (struct wire_key){.generation = target.generation, .rkey = wqe->rkey};
		} else if (!count) {
			break;
		}
	}
	return count;
}

enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   const struct target_peer *from)
{
	enum shortcut_result result;
	struct peer_file *file;
	struct target target;

	if (!may_serve(peer, from, wqe, &target))
		return SHORTCUT_REFUSED;
	switch (peer_file_hold(peer, &target, &file)) {
	case PEER_FILE_HELD:
		result = read_from(qp, wqe, peer, file, from, &target);
		peer_file_release(peer, file);
		return result;
	case PEER_FILE_NONE:
		return peer_has_cma(peer) ? read_from(qp, wqe, peer, NULL, from, &target) : SHORTCUT_REFUSED;
	case PEER_KEY_UNKNOWN:
		return SHORTCUT_UNKNOWN_KEY;
	case PEER_KEY_WRONG:
		break;
	}
	return SHORTCUT_REFUSED;
}

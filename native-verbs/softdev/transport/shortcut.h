/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READ without the responder: from the file behind the region (pread) or from the peer's memory
 * (process_vm_readv). A short cut only ever succeeds; whatever it finds wrong, the READ goes over the wire
 * and the responder judges, so that errors are the same on every path.
 */
#ifndef SOFTDEV_SHORTCUT_H
#define SOFTDEV_SHORTCUT_H

#include "queue/qp.h"

enum shortcut_result {
	SHORTCUT_DONE,
	SHORTCUT_UNKNOWN_KEY, /* the peer has not said yet whether the key is right, and where the file is */
	SHORTCUT_REFUSED,
};

/* Without qp->lock, but with the send queue running in the caller's hands; the state may change meanwhile. */
enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   uint32_t peer_qp_slot, uint64_t peer_qp_generation);

/*
 * The same for several READs, of SGE_SLICE_BYTES together at most, with as few system calls as can be. Returns how
 * many of them, from the first on, are done; what stopped it is for shortcut_read() to say of the next one.
 */
unsigned int shortcut_read_batch(struct softdev_qp *qp, const struct wqe *const *reads, unsigned int count,
				 struct peer *peer, uint32_t peer_qp_slot, uint64_t peer_qp_generation);

/* For both of them: preadv, and what the errno of process_vm_readv says about the peer. */
ssize_t shortcut_pread(int fd, const struct iovec *iov, int count, uint64_t offset);
void shortcut_note_error(struct peer *peer, int error);

#endif

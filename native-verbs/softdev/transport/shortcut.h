/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs without the responder: from the file behind the region (pread) or from the peer's memory (process_vm_readv). A
 * short cut never fails a READ: whatever it finds wrong, the READ goes over the wire and the responder judges it, so
 * that errors are the same on every path.
 */
#ifndef SOFTDEV_SHORTCUT_H
#define SOFTDEV_SHORTCUT_H

#include "memory/target.h"
#include "queue/qp.h"

enum { SHORTCUT_BATCH = 64 }; /* the largest number of READs in one system call */

enum shortcut_result {
	SHORTCUT_DONE,
	SHORTCUT_UNKNOWN_KEY, /* it could not be looked up, and the peer has not said yet whether it is right and which file it has */
	SHORTCUT_REFUSED,
};

/* Returns where a queue pair that has a peer reads from. Called with qp->lock held. */
struct target_peer shortcut_source(const struct softdev_qp *qp);

/* The caller runs the send queue and does not hold qp->lock; the state may change meanwhile. */
enum shortcut_result shortcut_read(struct softdev_qp *qp, const struct wqe *wqe, struct peer *peer,
				   const struct target_peer *from);

/*
 * The same for several READs, of at most SGE_SLICE_BYTES together, with as few system calls as possible. Returns how
 * many of them, from the first on, are done; to learn what stopped it, the caller passes the next one to
 * shortcut_read().
 */
unsigned int shortcut_read_batch(struct softdev_qp *qp, const struct wqe *const *reads, unsigned int count,
				 struct peer *peer, const struct target_peer *from);

/*
 * Writes to `keys` (WIRE_KEYS) those of the READs from the oldest on that a short cut could serve if the peer said that
 * they are right, and notes that the peer is asked about them. Returns their number; 0 if it is known what the oldest
 * READ needs. Called with qp->lock held, in REQUESTER_OPEN with a peer.
 */
unsigned int shortcut_unknown_keys(struct softdev_qp *qp, struct wire_key *keys);

/* Shared by both: preadv(), and counting READs. */
ssize_t shortcut_pread(int fd, const struct iovec *iov, int count, uint64_t offset);
void shortcut_count(bool by_file, unsigned int reads, uint64_t bytes);

#endif

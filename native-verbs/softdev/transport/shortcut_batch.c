/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes several READs with one process_vm_readv(), or with one preadv() each and nothing between them. The checks
 * before and after are those of a single READ, for every region. If one READ fails a check, the batch ends before it,
 * and it is tried alone.
 */
#define _GNU_SOURCE
#include "process/log.h"
#include "process/settings.h"
#include "transport/peer.h"
#include "transport/shortcut.h"

#include <errno.h>
#include <sys/uio.h>

enum { BATCH_IOVS = 4 * SQ_BATCH };

/* One READ of the batch. */
struct part {
	unsigned int local_end; /* index after its last iov */
	uint64_t bytes_end;	/* end of its last byte in the batch */
};

struct batch {
	struct target_peer peer;
	struct peer_file *file; /* source of all READs; NULL = the peer's memory */
	unsigned int count, local_count, target_count, sink_count;
	uint64_t bytes;
	struct part parts[SQ_BATCH];
	struct iovec local[BATCH_IOVS], remote[SQ_BATCH]; /* remote: offsets in `file`, or addresses */
	struct target targets[SQ_BATCH];			/* without equal neighbours */
	struct softdev_mr *sinks[BATCH_IOVS];			/* held; without equal neighbours */
};

/* Returns the region of one SGE and holds it, or returns NULL. */
static struct softdev_mr *hold_sink(struct batch *batch, const struct softdev_pd *pd, const struct ibv_sge *sge)
{
	struct softdev_mr *mr = batch->sink_count ? batch->sinks[batch->sink_count - 1] : NULL;

	if (mr && mr_permits(mr, pd, KEY_LOCAL, sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE))
		return mr;
	if (mr_acquire(pd, KEY_LOCAL, sge->lkey, sge->addr, sge->length, IBV_ACCESS_LOCAL_WRITE, &mr))
		return NULL;
	batch->sinks[batch->sink_count++] = mr;
	return mr;
}

/*
 * Returns true if the batch may read from this target. The first READ decides the source of all: one file or the peer's
 * memory.
 */
static bool may_read(struct batch *batch, struct peer *peer, const struct target *target)
{
	struct peer_file *file;
	enum peer_file_state state = peer_file_hold(peer, target->rkey, target->generation, &file);

	if (state == PEER_FILE_HELD && !batch->target_count) {
		batch->file = file;
		return true;
	}
	if (state == PEER_FILE_HELD)
		peer_file_release(peer, file);
	return state == PEER_FILE_NONE && !batch->file && path_mode() != PATH_FILE && peer_has_cma(peer);
}

static const struct target *find_target(struct batch *batch, struct peer *peer, uint32_t rkey)
{
	struct target *target = &batch->targets[batch->target_count];

	if (batch->target_count && target[-1].rkey == rkey)
		return target - 1;
	if (!target_find(&batch->peer, rkey, target) || !may_read(batch, peer, target))
		return NULL;
	batch->target_count++;
	return target;
}

/* Returns false if the READ must go alone or in another batch. The batch then releases what was held for it. */
static bool add(struct batch *batch, struct peer *peer, const struct softdev_pd *pd, const struct wqe *wqe)
{
	const struct target *target = find_target(batch, peer, wqe->rkey);
	unsigned int local = batch->local_count;
	uint64_t from;

	if (!target || !wqe->length || !target_covers(target, wqe->remote_addr, wqe->length))
		return false;
	for (int i = 0; i < wqe->num_sge; i++) {
		const struct ibv_sge *sge = &wqe->sge[i];
		struct softdev_mr *mr;

		if (!sge->length)
			continue;
		if (local == BATCH_IOVS || !(mr = hold_sink(batch, pd, sge)))
			return false;
		batch->local[local++] = (struct iovec){mr_pointer(mr, sge->addr), sge->length};
	}
	from = target_place(target, batch->file, wqe->remote_addr);
	batch->remote[batch->count] = (struct iovec){(void *)(uintptr_t)from, wqe->length};
	batch->local_count = local;
	batch->bytes += wqe->length;
	batch->parts[batch->count++] = (struct part){local, batch->bytes};
	return true;
}

/* Copies; returns how many READs are complete. */
static unsigned int copy_memory(struct batch *batch, struct peer *peer)
{
	ssize_t copied = process_vm_readv(peer_pid(peer), batch->local, batch->local_count, batch->remote,
					  batch->count, 0);
	unsigned int whole = batch->count;

	if (copied < 0) {
		shortcut_note_error(peer, errno);
		return 0;
	}
	while (whole && batch->parts[whole - 1].bytes_end > (uint64_t)copied)
		whole--;
	return whole;
}

static unsigned int copy_file(struct batch *batch)
{
	int fd = peer_file_fd(batch->file);
	unsigned int whole, local = 0;

	for (whole = 0; whole < batch->count; whole++) {
		const struct iovec *remote = &batch->remote[whole];
		const struct part *part = &batch->parts[whole];

		if (shortcut_pread(fd, batch->local + local, part->local_end - local,
				   (uintptr_t)remote->iov_base) != (ssize_t)remote->iov_len)
			break;
		local = part->local_end;
	}
	return whole;
}

static bool is_unchanged(const struct batch *batch)
{
	target_copied();
	for (unsigned int i = 0; i < batch->target_count; i++)
		if (!target_unchanged(&batch->targets[i]))
			return false;
	return target_peer_unchanged(&batch->peer);
}

unsigned int shortcut_read_batch(struct softdev_qp *qp, const struct wqe *const *reads, unsigned int count,
				 struct peer *peer, const struct target_peer *from)
{
	unsigned int whole = 0;
	struct batch batch;

	batch.peer = *from;
	batch.file = NULL;
	batch.count = batch.local_count = batch.target_count = batch.sink_count = 0;
	batch.bytes = 0;
	for (unsigned int i = 0; i < count && add(&batch, peer, qp->pd, reads[i]); i++)
		;
	if (batch.count)
		whole = batch.file ? copy_file(&batch) : copy_memory(&batch, peer);
	while (batch.sink_count)
		mr_release(batch.sinks[--batch.sink_count]);
	if (whole && !is_unchanged(&batch))
		whole = 0;
	if (whole)
		shortcut_count(qp, batch.file, whole, batch.parts[whole - 1].bytes_end);
	if (batch.file)
		peer_file_release(peer, batch.file);
	return whole;
}

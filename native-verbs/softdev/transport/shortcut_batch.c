/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes several READs, of any regions, with as few system calls as their order allows: neighbours in the list that
 * read the peer's memory share a process_vm_readv(), and neighbours both in the list and in a file share a preadv().
 * The checks before and after are those of a single READ, for every region. If one READ fails a check, the batch ends
 * before it, and it is tried alone.
 */
#define _GNU_SOURCE
#include "transport/peer.h"
#include "transport/shortcut.h"

#include <errno.h>
#include <sys/uio.h>

enum { BATCH_IOVS = 4 * SHORTCUT_BATCH };

/* One READ of the batch. */
struct part {
	struct peer_file *file; /* what it reads; NULL = the peer's memory */
	unsigned int local_end; /* index after its last iov */
	uint64_t bytes_end;	/* end of its last byte in the batch */
};

/* The region that one READ reads, or several that follow each other. */
struct source {
	struct target target;
	struct peer_file *file; /* held; NULL = the peer's memory */
};

struct batch {
	struct target_peer peer;
	unsigned int count, local_count, source_count, sink_count;
	uint64_t bytes;
	struct part parts[SHORTCUT_BATCH];
	struct iovec local[BATCH_IOVS], remote[SHORTCUT_BATCH]; /* remote: offsets in the files, or addresses */
	struct source sources[SHORTCUT_BATCH];
	struct softdev_mr *sinks[BATCH_IOVS]; /* held; without equal neighbours */
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

/* Returns the source of a READ, or NULL if the batch may not read from there. */
static const struct source *find_source(struct batch *batch, struct peer *peer, uint32_t rkey)
{
	struct source *source = &batch->sources[batch->source_count];
	enum peer_file_state state;

	if (batch->source_count && source[-1].target.rkey == rkey)
		return source - 1;
	if (!target_find(&batch->peer, rkey, &source->target))
		return NULL;
	source->file = NULL;
	state = peer_file_hold(peer, &source->target, &source->file);
	if (state != PEER_FILE_HELD && (state != PEER_FILE_NONE || !peer_has_cma(peer)))
		return NULL;
	batch->source_count++;
	return source;
}

/* Returns false if the READ must go alone or in another batch. The batch then releases what was held for it. */
static bool add(struct batch *batch, struct peer *peer, const struct softdev_pd *pd, const struct wqe *wqe)
{
	const struct source *source = find_source(batch, peer, wqe->rkey);
	unsigned int local = batch->local_count;
	uint64_t from;

	if (!source || !wqe->length || !target_covers(&source->target, wqe->remote_addr, wqe->length))
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
	from = target_place(&source->target, source->file, wqe->remote_addr);
	batch->remote[batch->count] = (struct iovec){(void *)(uintptr_t)from, wqe->length};
	batch->local_count = local;
	batch->bytes += wqe->length;
	batch->parts[batch->count++] = (struct part){source->file, local, batch->bytes};
	return true;
}

static bool is_next(const struct iovec *before, const struct iovec *iov)
{
	return (uintptr_t)before->iov_base + before->iov_len == (uintptr_t)iov->iov_base;
}

/* Returns the index after the last READ that can share the system call of READ `first`. */
static unsigned int end_of_call(const struct batch *batch, unsigned int first)
{
	const struct peer_file *file = batch->parts[first].file;
	unsigned int end = first + 1;

	while (end < batch->count && batch->parts[end].file == file &&
	       (!file || is_next(&batch->remote[end - 1], &batch->remote[end])))
		end++;
	return end;
}

/* Makes one of those that follow each other in memory. Returns how many there are then. */
static int merge(struct iovec *iov, unsigned int count)
{
	unsigned int last = 0;

	for (unsigned int i = 1; i < count; i++)
		if (is_next(&iov[last], &iov[i]))
			iov[last].iov_len += iov[i].iov_len;
		else
			iov[++last] = iov[i];
	return last + 1;
}

/* Executes the READs from `first` to before `end` with one system call. Returns as read() does. */
static ssize_t call(struct batch *batch, struct peer *peer, unsigned int first, unsigned int end)
{
	const struct peer_file *file = batch->parts[first].file;
	unsigned int start = first ? batch->parts[first - 1].local_end : 0;
	struct iovec *local = batch->local + start, *remote = batch->remote + first;
	int count = merge(local, batch->parts[end - 1].local_end - start);
	ssize_t copied;

	if (file)
		return shortcut_pread(peer_file_fd(file), local, count, (uintptr_t)remote->iov_base);
	copied = process_vm_readv(peer_pid(peer), local, count, remote, merge(remote, end - first), 0);
	if (copied < 0)
		peer_note_cma_error(peer, errno);
	return copied;
}

/* Copies; returns how many READs are complete. */
static unsigned int copy(struct batch *batch, struct peer *peer)
{
	unsigned int whole = 0, end;
	uint64_t bytes = 0;

	do {
		ssize_t copied;

		end = end_of_call(batch, whole);
		copied = call(batch, peer, whole, end);
		bytes += copied > 0 ? copied : 0;
		while (whole < end && batch->parts[whole].bytes_end <= bytes)
			whole++;
	} while (whole == end && whole < batch->count);
	return whole;
}

static bool is_unchanged(const struct batch *batch)
{
	target_copied();
	for (unsigned int i = 0; i < batch->source_count; i++)
		if (!target_unchanged(&batch->sources[i].target))
			return false;
	return target_peer_unchanged(&batch->peer);
}

static void count_parts(const struct batch *batch, unsigned int whole)
{
	unsigned int reads[2] = {0};
	uint64_t bytes[2] = {0}, start = 0;

	for (unsigned int i = 0; i < whole; start = batch->parts[i++].bytes_end) {
		reads[!!batch->parts[i].file]++;
		bytes[!!batch->parts[i].file] += batch->parts[i].bytes_end - start;
	}
	for (int by_file = 0; by_file < 2; by_file++)
		shortcut_count(by_file, reads[by_file], bytes[by_file]);
}

unsigned int shortcut_read_batch(struct softdev_qp *qp, const struct wqe *const *reads, unsigned int count,
				 struct peer *peer, const struct target_peer *from)
{
	unsigned int whole = 0;
	struct batch batch;

	batch.peer = *from;
	batch.count = batch.local_count = batch.source_count = batch.sink_count = 0;
	batch.bytes = 0;
	while (batch.count < count && add(&batch, peer, qp->pd, reads[batch.count]))
		;
	if (batch.count)
		whole = copy(&batch, peer);
	while (batch.sink_count)
		mr_release(batch.sinks[--batch.sink_count]);
	if (whole && !is_unchanged(&batch))
		whole = 0;
	count_parts(&batch, whole);
	while (batch.source_count)
		if (batch.sources[--batch.source_count].file)
			peer_file_release(peer, batch.sources[batch.source_count].file);
	return whole;
}

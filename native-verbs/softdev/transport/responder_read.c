/* SPDX-License-Identifier: Apache-2.0 */
/*
 * READs that the responder serves: small ones are copied, so that several answers share a system call; others go one at
 * a time and piece by piece, and no other request is looked at meanwhile. A piece that is not in memory is first brought
 * there by a worker.
 */
#define _GNU_SOURCE
#include "process/counters.h"
#include "transport/responder_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The second is a limit of what a peer that does not read can make this process keep. */
enum { COPIED_BYTES = 4096, FRAMES_WAITING = 64 };

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

/* A piece of a READ that a worker brings into memory. The queue pair may forget it meanwhile. */
struct disk_wait {
	struct worker_task fetch;
	struct progress_task done;
	struct iovec memory;
	uint32_t qpn;
};

static uintptr_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Returns the memory in whole pages. */
static struct iovec pages_of(const struct iovec *memory)
{
	uintptr_t start = (uintptr_t)memory->iov_base & -page_bytes();
	uintptr_t end = ((uintptr_t)memory->iov_base + memory->iov_len + page_bytes() - 1) & -page_bytes();

	return (struct iovec){(void *)start, end - start};
}

/*
 * Returns false if some of the memory of the region would have to be read from a disk, or if nobody can tell; true also for
 * what cannot be read at all.
 */
static bool is_resident(const struct softdev_mr *mr, const struct iovec *memory)
{
	unsigned char state[WIRE_CHUNK / 4096 + 1];
	const struct iovec pages = pages_of(memory);

	if (mr->hides_residency)
		return false;
	if (mincore(pages.iov_base, pages.iov_len, state))
		return true;
	for (uintptr_t i = 0; i < pages.iov_len / page_bytes(); i++)
		if (!(state[i] & 1))
			return false;
	return true;
}

/*
 * On the worker, which holds no region while the disk takes its time: memory that is unmapped meanwhile is not read.
 * Whether it succeeds shows when the memory is sent.
 */
static void fetch(void *owner)
{
	struct disk_wait *wait = owner;
	const struct iovec pages = pages_of(&wait->memory);

	if (madvise(pages.iov_base, pages.iov_len, MADV_POPULATE_READ) && errno == EINVAL) /* before Linux 5.14 */
		for (uintptr_t i = 0; i < pages.iov_len; i += page_bytes()) {
			char byte;
			const struct iovec to = {&byte, 1}, from = {(char *)pages.iov_base + i, 1};

			process_vm_readv(getpid(), &to, 1, &from, 1, 0);
		}
	progress_post(&wait->done);
}

static void queue_chunk(struct softdev_qp *qp);

static void on_fetched(void *owner)
{
	struct disk_wait *wait = owner;
	struct softdev_qp *qp = qp_find(wait->qpn);

	if (qp && qp->responder.disk_wait == wait) {
		qp->responder.disk_wait = NULL;
		queue_chunk(qp);
		link_flush(qp->responder.link);
	}
	free(wait);
}

/* Returns true if a worker brings these bytes of the READ into memory, after which they are sent. */
static bool must_fetch(struct softdev_qp *qp, uint64_t address, uint32_t length)
{
	struct disk_wait *wait;
	struct sge_hold hold;
	struct iovec memory;

	if (sge_hold_remote(qp->pd, qp_generation(qp), qp->responder.rkey, address, length, IBV_ACCESS_REMOTE_READ, &memory,
			    &hold) < 0)
		return false;
	wait = is_resident(hold.mr[0], &memory) ? NULL : malloc(sizeof(*wait));
	sge_release(&hold);
	if (!wait)
		return false;
	*wait = (struct disk_wait){
		.fetch = {.callback = fetch, .owner = wait},
		.done = {.callback = on_fetched, .owner = wait},
		.memory = memory,
		.qpn = qp->base.qp_num,
	};
	qp->responder.disk_wait = wait;
	if (workers_run(&wait->fetch))
		return true;
	qp->responder.disk_wait = NULL;
	free(wait);
	return false;
}

static struct softdev_qp *qp_of(struct link_stream *stream)
{
	return container_of_(stream, struct softdev_qp, responder.read_stream);
}

static int read_source(struct link_stream *stream, uint64_t offset, struct iovec *iov, int max_iov)
{
	struct softdev_qp *qp = qp_of(stream);
	struct responder *responder = &qp->responder;

	(void)max_iov;
	if (!responder_is_ready(qp))
		return -ECANCELED;
	if (sge_hold_remote(qp->pd, qp_generation(qp), responder->rkey,
			    responder->address + responder->offset + offset,
			    responder->chunk - offset, IBV_ACCESS_REMOTE_READ, iov, &qp->slice) < 0) {
		responder->read_error = IBV_WC_REM_ACCESS_ERR;
		return 0;
	}
	return 1;
}

static int read_sourced(struct link_stream *stream, ssize_t bytes)
{
	struct softdev_qp *qp = qp_of(stream);

	sge_release(&qp->slice);
	if (bytes == -EFAULT)
		qp->responder.read_error = IBV_WC_REM_OP_ERR;
	return 0;
}

static void read_done(struct link_stream *stream, bool complete);

/* Queues the next piece of the READ that is being answered. */
static void queue_chunk(struct softdev_qp *qp)
{
	struct responder *responder = &qp->responder;
	uint64_t rest = responder->total - responder->offset;
	struct frame frame = {
		.op = WIRE_READ_DATA,
		.seq = responder->seq,
		.length = rest < WIRE_CHUNK ? rest : WIRE_CHUNK,
		.total = responder->total,
		.arg = responder->offset,
	};

	responder->chunk = frame.length;
	responder->read_ack = (struct frame){.op = WIRE_ACK, .seq = responder->seq};
	responder->read_stream = (struct link_stream){read_source, read_sourced, read_done,
						      frame.length == rest ? &responder->read_ack : NULL};
	link_send_stream(qp->responder.link, &frame, &responder->read_stream);
}

/* The same as soon as the piece is in memory. */
static void send_chunk(struct softdev_qp *qp)
{
	const struct responder *responder = &qp->responder;
	uint64_t rest = responder->total - responder->offset;

	if (!must_fetch(qp, responder->address + responder->offset, rest < WIRE_CHUNK ? rest : WIRE_CHUNK))
		queue_chunk(qp);
}

static void read_done(struct link_stream *stream, bool complete)
{
	struct softdev_qp *qp = qp_of(stream);
	struct responder *responder = &qp->responder;

	responder->offset += responder->chunk;
	if (complete && responder->offset < responder->total) {
		send_chunk(qp);
		return;
	}
	link_pause(qp->responder.link, false);
	if (!complete) {
		responder_refuse(qp, responder->seq,
				 responder->read_error ? responder->read_error : IBV_WC_REM_OP_ERR,
				 IBV_WC_SUCCESS);
		return;
	}
	responder->expected_seq++;
	COUNT(reads_served_wire);
	COUNT_ADD(read_bytes_served_wire, responder->total);
}

/* Returns false if the READ must be served in another way. */
static bool answer_with_copy(struct softdev_qp *qp, const struct frame *frame)
{
	struct link *link = qp->responder.link;
	const struct frame data = {.op = WIRE_READ_DATA, .seq = frame->seq, .length = frame->total, .total = frame->total};
	const struct frame ack = {.op = WIRE_ACK, .seq = frame->seq};
	uint8_t bytes[COPIED_BYTES];
	const struct iovec copy = {bytes, frame->total};
	struct iovec source;
	ssize_t copied;

	if (!frame->total || frame->total > COPIED_BYTES || link_frames_waiting(link) > FRAMES_WAITING)
		return false;
	if (sge_hold_remote(qp->pd, qp_generation(qp), frame->rkey, frame->remote_addr, frame->total,
			    IBV_ACCESS_REMOTE_READ, &source, &qp->slice) < 0)
		return false;
	/* The memory may be unmapped. */
	copied = is_resident(qp->slice.mr[0], &source) ? process_vm_readv(getpid(), &copy, 1, &source, 1, 0) : -1;
	sge_release(&qp->slice);
	if (copied != (ssize_t)frame->total)
		return false;
	if (link_send(link, &data, bytes, NULL, 0) || link_send(link, &ack, NULL, NULL, 0))
		return true; /* the link fails soon */
	qp->responder.expected_seq++;
	COUNT(reads_served_wire);
	COUNT_ADD(read_bytes_served_wire, frame->total);
	link_flush_soon(link);
	return true;
}

void responder_read(struct softdev_qp *qp, const struct frame *frame)
{
	struct responder *responder = &qp->responder;
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	pthread_mutex_lock(&qp->lock);
	if (!responder_expects(qp, frame)) {
		pthread_mutex_unlock(&qp->lock);
		return;
	}
	if (!qp->attr.max_dest_rd_atomic || !(qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) ||
	    frame->total > DEVICE_MAX_MESSAGE || frame->length || (frame->flags & ~WIRE_FLAGS))
		status = IBV_WC_REM_INV_REQ_ERR;
	else if (!responder_allows(qp, frame->rkey, frame->remote_addr, frame->total, IBV_ACCESS_REMOTE_READ))
		status = IBV_WC_REM_ACCESS_ERR;
	pthread_mutex_unlock(&qp->lock);
	if (status != IBV_WC_SUCCESS) {
		responder_refuse(qp, frame->seq, status, IBV_WC_SUCCESS);
		return;
	}
	if (answer_with_copy(qp, frame))
		return;
	responder->seq = frame->seq;
	responder->rkey = frame->rkey;
	responder->address = frame->remote_addr;
	responder->total = frame->total;
	responder->offset = 0;
	responder->read_error = 0;
	link_pause(qp->responder.link, true);
	send_chunk(qp);
	link_flush(qp->responder.link);
}

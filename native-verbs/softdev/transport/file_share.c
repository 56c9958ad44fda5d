/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file_share.h"

#include "engine.h"
#include "fault/fault.h"
#include "lock.h"
#include "transport/responder_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Returns true if the queue pair would execute a READ. */
static bool may_read(struct softdev_qp *qp)
{
	HOLD_LOCK(&qp->lock);
	return responder_is_ready(qp) && (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) &&
	       qp->attr.max_dest_rd_atomic;
}

/* Says whether the key is right. Returns a descriptor of its file, or -1. */
static int judge(struct softdev_qp *qp, struct wire_key *key, bool may_share)
{
	int fd = -1;

	key->status = may_share ? -mr_share_file(qp->pd, qp_generation(qp), key->rkey, key->generation, &fd) : EACCES;
	if (fd >= 0 && fault_check(FAULT_SHARE_FILE, .qpn = qp->base.qp_num)) {
		close(fd);
		fd = -1;
	}
	key->has_file = fd >= 0;
	return fd;
}

void responder_share_files(struct softdev_qp *qp, const struct frame *frame, const void *payload)
{
	struct frame reply = {.op = WIRE_FILE_REPLY};
	unsigned int asked = frame->length / sizeof(struct wire_key), count = 0;
	struct wire_key keys[WIRE_KEYS];
	int fds[WIRE_KEYS], fd_count = 0;
	bool may_share;

	if (!asked || asked > WIRE_KEYS || frame->length % sizeof(struct wire_key)) {
		responder_refuse(qp, frame->seq, IBV_WC_REM_INV_REQ_ERR, IBV_WC_SUCCESS);
		return;
	}
	memcpy(keys, payload, asked * sizeof(*keys));
	/*
	 * A READ shows only the region but the descriptor shows the whole file, so only a peer of the same user gets
	 * one: it could open the file anyway.
	 */
	may_share = link_peer(qp->responder.link)->is_of_own_user && may_read(qp);
	do {
		fds[fd_count] = judge(qp, &keys[count], may_share);
		fd_count += fds[fd_count] >= 0;
	} while (keys[count++].status != EACCES && count < asked);
	/* The answer ends with the first wrong key, so each question tells of one at most. */
	if (may_share && keys[count - 1].status == EACCES && !responder_count_question(qp)) {
		link_close_fds(fds, fd_count);
		return;
	}
	qp->responder.passed_files |= fd_count > 0;
	reply.length = count * sizeof(*keys);
	link_send(qp->responder.link, &reply, keys, fds, fd_count);
	link_flush(qp->responder.link);
}

static void revoke_on(struct softdev_qp *qp, void *unused)
{
	const struct frame frame = {.op = WIRE_FILE_REVOKE};

	(void)unused;
	/*
	 * If the last frame in the queue is a FILE_REVOKE, the peer will read it after this moment, so it serves for
	 * this revocation too.
	 */
	if (!qp->responder.link || !qp->responder.passed_files || link_ends_with(qp->responder.link, WIRE_FILE_REVOKE))
		return;
	link_send(qp->responder.link, &frame, NULL, NULL, 0);
	link_flush(qp->responder.link);
}

static void revoke_everywhere(void *unused)
{
	qp_for_each(revoke_on, unused);
}

struct file_share_state {
	struct progress_task task;
};

static bool init_part(void *part)
{
	((struct file_share_state *)part)->task.callback = revoke_everywhere;
	return true;
}

ENGINE_PART(file_share, init_part);

void file_share_revoke(void)
{
	progress_post(&engine->file_share->task);
}

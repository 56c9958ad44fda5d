/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/file_share.h"

#include "engine.h"
#include "fault/fault.h"
#include "lock.h"
#include "transport/responder_internal.h"

#include <errno.h>
#include <unistd.h>

/* Returns true if the queue pair would execute a READ. */
static bool may_read(struct softdev_qp *qp)
{
	HOLD_LOCK(&qp->lock);
	return responder_is_ready(qp) && (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) &&
	       qp->attr.max_dest_rd_atomic;
}

void responder_share_file(struct softdev_qp *qp, const struct frame *frame)
{
	struct frame reply = {.op = WIRE_FILE_REPLY, .rkey = frame->rkey, .arg = frame->arg};
	int fd = -1, error = -EACCES;

	/*
	 * A READ shows only the region but the descriptor shows the whole file, so only a peer of the same user gets
	 * one: it could open the file anyway.
	 */
	if (link_peer(qp->responder.link)->is_of_own_user && may_read(qp)) {
		error = mr_share_file(qp->pd, qp_generation(qp), frame->rkey, frame->arg, &fd);
		if (error == -EACCES && !responder_count_question(qp))
			return;
	}
	if (fd >= 0 && fault_check(FAULT_SHARE_FILE, .qpn = qp->base.qp_num)) {
		close(fd);
		fd = -1;
	}
	if (fd >= 0)
		qp->responder.passed_files = true;
	reply.status = -error;
	if (link_send(qp->responder.link, &reply, NULL, &fd, fd >= 0)) /* the descriptor could not be duplicated */
		link_send(qp->responder.link, &reply, NULL, NULL, 0);
	link_flush(qp->responder.link);
	if (fd >= 0)
		close(fd);
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

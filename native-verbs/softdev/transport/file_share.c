/* SPDX-License-Identifier: Apache-2.0 */
#include "file_share.h"

#include "fault.h"
#include "log.h"
#include "responder_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Would a READ be carried out at all? */
static bool may_read(struct softdev_qp *qp)
{
	bool may;

	pthread_mutex_lock(&qp->lock);
	may = responder_is_ready(qp) && (qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) &&
	      qp->attr.max_dest_rd_atomic;
	pthread_mutex_unlock(&qp->lock);
	return may;
}

void responder_share_file(struct softdev_qp *qp, const struct frame *frame)
{
	struct frame reply = {.op = WIRE_FILE_REPLY, .rkey = frame->rkey, .arg = frame->arg};
	const struct fault *fault = fault_check(FAULT_SHARE_FILE, .qpn = qp->base.qp_num);
	int fd = fault ? -fault->error : -EACCES, error;

	/* The descriptor shows the whole file, a READ only the region: for those who may open it anyway. */
	if (!fault && link_peer_uid(qp->in) == geteuid() && may_read(qp))
		fd = mr_share_file(qp->pd, frame->rkey, frame->arg);
	if (fd < 0)
		reply.status = -fd;
	else
		qp->passed_files = true;
	error = link_send(qp->in, &reply, NULL, &fd, fd >= 0);
	if (error) { /* short of descriptors */
		reply.status = -error;
		link_send(qp->in, &reply, NULL, NULL, 0);
	}
	link_flush(qp->in);
	if (fd >= 0)
		close(fd);
}

struct revocation {
	struct progress_task task;
	struct frame frame;
};

static void revoke_on(struct softdev_qp *qp, void *argument)
{
	const struct revocation *revocation = argument;

	if (!qp->in || !qp->passed_files)
		return;
	link_send(qp->in, &revocation->frame, NULL, NULL, 0);
	link_flush(qp->in);
}

static void revoke_everywhere(void *owner)
{
	qp_for_each(revoke_on, owner);
	free(owner);
}

void file_share_revoke(uint32_t slot, uint64_t generation)
{
	struct revocation *revocation = malloc(sizeof(*revocation));

	if (!revocation) {
		log_error("no memory to revoke the descriptor of region %u", slot);
		return;
	}
	*revocation = (struct revocation){
		.task = {.callback = revoke_everywhere, .owner = revocation},
		.frame = {.op = WIRE_FILE_REVOKE, .rkey = slot, .arg = generation},
	};
	progress_post(&revocation->task);
}

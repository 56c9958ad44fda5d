/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts or refuses the requester of a queue pair, by the first frame of an incoming link. */
#include "lock.h"
#include "memory/peer_table.h"
#include "process/sha256.h"
#include "transport/responder_internal.h"
#include "transport/transport.h"
#include "transport/wrong_keys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

/* Between hosts, the request must name both ends as the connection shows them. */
static bool names_both_ends(const struct link *link, const struct qp_open *open)
{
	return !link_peer(link)->is_tcp ||
	       (link_is_from(link, open->source_gid.raw) && gid_is_local(&open->destination_gid));
}

/*
 * Returns 0, or EAGAIN if the QP is not, or not yet, connected to the one that asks, if the two disagree about the
 * sequence, or if another requester holds the place already. Any process can copy a boot nonce, so the holder of the
 * place is recognised by qp_open.requester, which nobody else can repeat.
 */
static int judge_open(struct softdev_qp *qp, const struct link *link, const struct qp_open *open)
{
	if (!qp)
		return EAGAIN;
	HOLD_LOCK(&qp->lock);
	if (responder_is_ready(qp) && qp->base.qp_num == open->destination_qpn &&
	    qp->attr.dest_qp_num == open->source_qpn && link_is_from(link, qp->attr.ah_attr.grh.dgid.raw) &&
	    names_both_ends(link, open) && open->qp_type == qp->base.qp_type &&
	    (is_unreliable(qp) || open->first_seq == qp->responder.expected_seq) &&
	    (!qp->responder.link || secure_equal(qp->responder.requester_id, open->requester, WIRE_REQUESTER_BYTES)))
		return 0;
	return EAGAIN;
}

static void accept_open(struct link *link, struct softdev_qp *qp, const struct qp_open *open)
{
	struct frame frame = {.op = WIRE_QP_OPEN_REPLY, .length = sizeof(struct qp_open_reply)};
	struct qp_open_reply reply = {.qp_slot = qp->slot};
	int table_fd = link_peer(link)->is_of_own_user ? fcntl(own_table_fd(), F_DUPFD_CLOEXEC, 0) : -1;

	if (!link_peer(link)->is_tcp) { /* only short cuts use these; other hosts need not know our addresses */
		reply.qp_generation = atomic_load(&own_table()->qp[qp->slot].generation);
		reply.cookie_address = (uintptr_t)process_nonce();
	}
	if (qp->responder.link)
		link_close(qp->responder.link);
	qp->responder.disk_wait = NULL; /* what is fetched for the former link, nobody on this one waits for */
	qp->responder.link = link;
	memcpy(qp->responder.requester_id, open->requester, WIRE_REQUESTER_BYTES);
	qp->responder.question_counted = false;
	link_set_owner(link, &responder_ops, qp);
	/* Without a descriptor the peer works without the table: every READ goes over the wire. */
	link_send(link, &frame, &reply, &table_fd, table_fd >= 0);
	link_flush(link);
}

static void on_first_frame(struct link *link, void *owner, const struct frame *frame,
			   const void *payload, const int *fds, int fd_count)
{
	struct frame refusal = {.op = WIRE_QP_OPEN_REPLY, .status = EAGAIN};
	const struct qp_open *open = payload;
	struct softdev_qp *qp;

	(void)owner;
	link_close_fds(fds, fd_count);
	if (frame->op != WIRE_QP_OPEN || frame->length != sizeof(*open)) {
		link_close(link);
		return;
	}
	qp = qp_find(open->destination_qpn);
	if (wrong_keys_exceeded(link)) {
		refusal.status = EACCES;
	} else if (!judge_open(qp, link, open)) {
		accept_open(link, qp, open);
		return;
	}
	link_send(link, &refusal, NULL, NULL, 0);
	link_close_after_flush(link);
}

static void on_early_close(struct link *link, void *owner, int error)
{
	(void)link;
	(void)owner;
	(void)error;
}

void qp_on_incoming_link(struct link *link)
{
	static const struct link_ops opening_ops = {
		.on_frame = on_first_frame,
		.on_close = on_early_close,
	};

	link_set_owner(link, &opening_ops, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/ud.h"

#include "core.h"
#include "datagram/mcast.h"
#include "datagram/ud_genuine.h"
#include "datagram/ud_inlet.h"
#include "datagram/ud_receive.h"
#include "datagram/ud_socket.h"
#include "lock.h"
#include "process/counters.h"
#include "process/log.h"
#include "queue/qp_fault.h"

#include <errno.h>
#include <stdlib.h>

enum { CONTROLLED_QKEY = 1u << 31 };

static int take_address(struct softdev_qp *qp, uint32_t slot, const struct ibv_send_wr *wr)
{
	const struct ud_route *route;

	if (!wr->wr.ud.ah)
		return EINVAL;
	route = ah_route(wr->wr.ud.ah, qp->pd);
	if (!route) {
		qp->sq.slots[slot].refused = IBV_WC_LOC_QP_OP_ERR; /* IBA, C10-10 */
		return 0;
	}
	qp->ud->to[slot] = (struct ud_address){
		.route = *route,
		.qpn = wr->wr.ud.remote_qpn & 0xffffff,
		.qkey = wr->wr.ud.remote_qkey & CONTROLLED_QKEY ? qp->attr.qkey : wr->wr.ud.remote_qkey,
	};
	return 0;
}

static void fill_header(const struct softdev_qp *qp, const struct wqe *wqe, const struct ud_address *to,
			struct ud_header *header)
{
	*header = (struct ud_header){
		.magic = UD_MAGIC,
		.version = UD_WIRE_VERSION,
		.flags = (wqe->opcode == IBV_WR_SEND_WITH_IMM ? UD_FLAG_IMM : 0) |
			 (wqe->flags & IBV_SEND_SOLICITED ? UD_FLAG_SOLICITED : 0) |
			 (to->route.v1 ? UD_FLAG_ROCE_V1 : 0),
		.traffic_class = to->route.traffic_class,
		.hop_limit = to->route.hop_limit,
		.destination_qpn = to->qpn,
		.source_qpn = qp->base.qp_num,
		.qkey = to->qkey,
		.imm = wqe->opcode == IBV_WR_SEND_WITH_IMM ? wqe->imm : 0,
		.flow_label = to->route.flow_label,
		.source = to->route.source,
		.destination = to->route.destination,
	};
	ud_sign(header);
}

/* Sends a datagram. Called without the lock; qp->busy holds the queue pair. */
static enum ibv_wc_status transmit(struct softdev_qp *qp, const struct wqe *wqe, const struct ud_address *to)
{
	struct iovec iov[1 + SGE_MAX];
	struct ud_header header;
	struct msghdr message = {.msg_iov = iov, .msg_iovlen = 1};
	struct sge_hold hold = {.count = 0};
	int count, error;

	if (wqe->length > UD_MAX_PAYLOAD) { /* IBA, C10-93.1.1: it is not sent, which is no error */
		if (!qp->ud->told_too_long)
			log_warn("qp %06x: a datagram of %u bytes is longer than the MTU, %d: it is not sent, nor will others be",
				 qp->base.qp_num, wqe->length, UD_MAX_PAYLOAD);
		qp->ud->told_too_long = true;
		return IBV_WC_SUCCESS;
	}
	fill_header(qp, wqe, to, &header);
	iov[0] = (struct iovec){&header, sizeof(header)};
	if (wqe->inline_data) {
		iov[message.msg_iovlen++] = (struct iovec){wqe->inline_data, wqe->length};
	} else {
		count = sge_hold_slice(qp->pd, wqe->sge, wqe->num_sge, 0, wqe->length, 0, iov + 1, SGE_MAX, &hold);
		if (count < 0)
			return IBV_WC_LOC_PROT_ERR;
		message.msg_iovlen += count;
	}
	error = to->route.group ? mcast_send(to, qp->base.qp_num >> 8, &message)
				: ud_socket_send(to, qp->base.qp_num >> 8, &message);
	sge_release(&hold);
	return error == -EFAULT ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

static void run(struct softdev_qp *qp)
{
	if (qp->sq.running)
		return;
	qp->sq.running = true;
	qp_busy_begin(qp);
	while (atomic_load(&qp->state) == IBV_QPS_RTS && qp->sq.exec != qp->sq.post) {
		uint32_t slot = qp->sq.exec & qp->sq.mask;
		struct wqe *wqe = &qp->sq.slots[slot];
		enum ibv_wc_status result;

		if (!wqe->started)
			fault_start_wr(qp, wqe);
		result = wqe->refused;
		if (result == IBV_WC_SUCCESS && wqe->fault)
			result = wqe->fault->status;
		if (result == IBV_WC_SUCCESS) {
			pthread_mutex_unlock(&qp->lock);
			result = transmit(qp, wqe, &qp->ud->to[slot]);
			pthread_mutex_lock(&qp->lock);
		}
		if (result == IBV_WC_SUCCESS) {
			COUNT(sends);
			COUNT_ADD(send_bytes, qp->sq.slots[slot].length);
		}
		qp->sq.exec++;
		sq_complete(qp, result);
	}
	qp->sq.running = false;
	sq_tell_if_drained(qp);
	qp_busy_end(qp);
}

static void run_on_thread(void *owner)
{
	struct softdev_qp *qp = owner;

	HOLD_LOCK(&qp->lock);
	run(qp);
}

static void destroy(struct softdev_qp *qp)
{
	free(qp->ud);
	qp->ud = NULL;
}

static int create(struct softdev_qp *qp)
{
	qp->ud = calloc(1, sizeof(*qp->ud) + ((size_t)qp->sq.mask + 1) * sizeof(*qp->ud->to));
	if (!qp->ud)
		return ENOMEM;
	qp->task = (struct progress_task){.callback = run_on_thread, .owner = qp};
	ud_receive_init(qp);
	return 0;
}

const struct qp_transport datagram_transport = {
	.create = create,
	.open = ud_open_port,
	.disconnect = ud_receive_close,
	.destroy = destroy,
	.is_in_use = mcast_has,
	.take_request = take_address,
	.run = run,
};

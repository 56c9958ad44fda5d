/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_receive.h"

#include "core.h"
#include "engine.h"
#include "fault/fault.h"
#include "lock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MS 1000000ull
#define HOLD_NS (50 * MS)

/* Datagrams of this process that may wait at a time: 64 MiB, as much as a UDP socket is asked to hold. */
enum { HELD_MOST = 16384 };

struct ud_held {
	struct list place;
	uint32_t length; /* of the payload */
	struct ud_header header;
	uint8_t payload[];
};

struct ud_receive_state {
	int held_by_process; /* progress thread only */
};

ENGINE_PART(ud_receive, NULL);

/* Lets the kernel copy, because the memory of the application may be gone although it is registered. 0 or -errno. */
static int copy_out(uint8_t *from, size_t length, const struct iovec *to, int count)
{
	const struct iovec source = {from, length};
	ssize_t copied = process_vm_writev(getpid(), &source, 1, to, count, 0);

	if (copied == (ssize_t)length)
		return 0;
	if (copied >= 0 || (errno != EPERM && errno != ENOSYS))
		return -EFAULT;
	for (int i = 0; i < count && length; i++) {
		size_t bytes = to[i].iov_len < length ? to[i].iov_len : length;

		memcpy(to[i].iov_base, from, bytes);
		from += bytes;
		length -= bytes;
	}
	return 0;
}

/* Called with qp->lock held, which it drops meanwhile. Returns IBV_WC_SUCCESS, or what is wrong with the buffer. */
static enum ibv_wc_status fill_receive(struct softdev_qp *qp, const struct rqe *rqe,
				       const struct ud_header *header, const void *payload, uint32_t length)
{
	uint8_t message[UD_GRH_BYTES + UD_MAX_PAYLOAD];
	struct iovec to[SGE_MAX];
	struct sge_hold hold;
	int error, count = sge_hold_slice(rq_pd(qp), rqe->sge, rqe->num_sge, 0, UD_GRH_BYTES + length,
					  IBV_ACCESS_LOCAL_WRITE, to, SGE_MAX, &hold);

	if (count < 0)
		return IBV_WC_LOC_PROT_ERR;
	pthread_mutex_unlock(&qp->lock);
	ud_fill_grh(header, length, message);
	memcpy(message + UD_GRH_BYTES, payload, length);
	error = copy_out(message, UD_GRH_BYTES + length, to, count);
	sge_release(&hold);
	pthread_mutex_lock(&qp->lock);
	return error ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS;
}

static bool receives(const struct softdev_qp *qp)
{
	int state = atomic_load(&qp->state);

	return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/*
 * A datagram without a buffer, or with the wrong Q_Key, is silently dropped. So is one whose buffer is too small, unless
 * the buffer came from a shared queue, which cannot take it back: then the receive ends with an error.
 */
static void receive_now(struct softdev_qp *qp, const struct ud_header *header, const void *payload, uint32_t length)
{
	struct ibv_wc wc = {
		.opcode = IBV_WC_RECV,
		.byte_len = UD_GRH_BYTES + length,
		.src_qp = header->source_qpn,
		.imm_data = header->imm,
		.wc_flags = IBV_WC_GRH | (header->flags & UD_FLAG_IMM ? IBV_WC_WITH_IMM : 0),
		.sl = ud_packet_type(header),
	};
	const struct fault *fault;
	const struct rqe *rqe;

	pthread_mutex_lock(&qp->lock);
	rqe = receives(qp) && header->qkey == qp->attr.qkey ? rq_next(qp) : NULL;
	fault = rqe ? fault_check(FAULT_RECV, .qpn = qp->base.qp_num, .length = length) : NULL;
	if (rqe && (rqe->length >= wc.byte_len || rqe->srq) && !(fault && fault->rnr)) {
		qp_busy_begin(qp);
		qp->ud->dry = false;
		if (fault && fault->status)
			wc.status = fault->status;
		else
			wc.status = rqe->length < wc.byte_len ? IBV_WC_LOC_LEN_ERR
							       : fill_receive(qp, rqe, header, payload, length);
		if (atomic_load(&qp->state) != IBV_QPS_RESET)
			rq_complete(qp, &wc, header->flags & UD_FLAG_SOLICITED);
		if (wc.status != IBV_WC_SUCCESS)
			qp_enter_error(qp);
		qp_busy_end(qp);
	}
	pthread_mutex_unlock(&qp->lock);
}

/* Returns true if the datagram may have a receive later. It will not if another has waited for one in vain. */
static bool lacks_receive(struct softdev_qp *qp, const struct ud_header *header)
{
	HOLD_LOCK(&qp->lock);
	return receives(qp) && header->qkey == qp->attr.qkey && !qp->ud->dry && !rq_next(qp);
}

static struct ud_held *oldest(const struct ud_inbox *inbox)
{
	return LIST_FIRST(&inbox->held, struct ud_held, place);
}

static void drop_oldest(struct ud_inbox *inbox)
{
	struct ud_held *held = oldest(inbox);

	list_remove(&held->place);
	inbox->count--;
	engine->ud_receive->held_by_process--;
	free(held);
}

static void drop_all(struct ud_inbox *inbox)
{
	while (inbox->count)
		drop_oldest(inbox);
}

/* Delivers the datagrams that have a receive by now. The time of the next one starts anew. */
static void serve(struct softdev_qp *qp)
{
	struct ud_inbox *inbox = &qp->ud->inbox;

	struct ud_held *held;

	while ((held = oldest(inbox)) && !lacks_receive(qp, &held->header)) {
		receive_now(qp, &held->header, held->payload, held->length);
		drop_oldest(inbox);
		inbox->give_up_ns = progress_now_ns() + HOLD_NS;
	}
}

static void on_timer(void *owner)
{
	struct softdev_qp *qp = owner;
	struct ud_inbox *inbox = &qp->ud->inbox;
	uint64_t now = progress_now_ns();

	serve(qp);
	if (inbox->count && now >= inbox->give_up_ns) {
		pthread_mutex_lock(&qp->lock);
		qp->ud->dry = true;
		pthread_mutex_unlock(&qp->lock);
		drop_all(inbox);
	}
	if (inbox->count)
		progress_timer_set(&inbox->timer, now + MS);
}

/* The datagram is lost if memory is short. */
static void hold(struct softdev_qp *qp, const struct ud_header *header, const void *payload, uint32_t length)
{
	struct ud_inbox *inbox = &qp->ud->inbox;
	struct ud_held *held = malloc(sizeof(*held) + length);

	if (!held)
		return;
	held->length = length;
	held->header = *header;
	memcpy(held->payload, payload, length);
	if (!inbox->count) {
		inbox->give_up_ns = progress_now_ns() + HOLD_NS;
		progress_timer_set(&inbox->timer, progress_now_ns() + MS);
	}
	list_add(&inbox->held, &held->place);
	inbox->count++;
	engine->ud_receive->held_by_process++;
}

void ud_deliver_to(struct softdev_qp *qp, const struct ud_header *header, uint8_t *payload, uint32_t length)
{
	const struct fault *fault;
	bool waits;

	serve(qp);
	waits = qp->ud->inbox.count || lacks_receive(qp, header);
	if (waits && engine->ud_receive->held_by_process >= HELD_MOST)
		return;
	fault = fault_check(FAULT_DATAGRAM, .qpn = qp->base.qp_num, .length = length);
	if (fault && fault->drop)
		return;
	if (fault && fault->flip && fault->offset < length)
		payload[fault->offset] ^= 1;
	for (int copies = fault && fault->duplicate ? 2 : 1; copies; copies--)
		if (waits)
			hold(qp, header, payload, length);
		else
			receive_now(qp, header, payload, length);
}

void ud_deliver(void *unused, const struct ud_header *header, uint8_t *payload, uint32_t length)
{
	struct softdev_qp *qp = qp_find(header->destination_qpn);

	(void)unused;
	/* Another host's datagram may be forwarded to this one, where the number belongs to another queue pair. */
	if (qp && qp->ud && gid_is_local(&header->destination))
		ud_deliver_to(qp, header, payload, length);
}

void ud_receive_init(struct softdev_qp *qp)
{
	qp->ud->inbox.timer = (struct progress_timer){.callback = on_timer, .owner = qp};
}

void ud_receive_close(struct softdev_qp *qp)
{
	progress_timer_cancel(&qp->ud->inbox.timer);
	drop_all(&qp->ud->inbox);
}

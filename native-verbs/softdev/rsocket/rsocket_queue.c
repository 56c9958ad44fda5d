/* SPDX-License-Identifier: Apache-2.0 */
/* The queue pair of an rsocket: its slots, what comes in, what goes out. Every function is called with its lock held. */
#include "rsocket.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "cancel.h"
#include "cm_exports.h"
#include "exports.h"

#define MEMORY_BYTES ((size_t)(RS_RECEIVES + RS_SLOTS) * RS_SLOT_BYTES)

enum { HELLO_MAGIC = 0x31534b52, INLINE_BYTES = sizeof(struct rs_control), SLEEP_MS = 1000 };

/* wr_id: the kind of a request, and the slot of a receive. */
enum { ID_SLOT, ID_CONTROL, ID_RECEIVE };

static uint64_t receive_id(uint32_t slot)
{
	return ID_RECEIVE + (uint64_t)slot;
}

char *rs_receive_slot(struct rsocket *rs, uint32_t slot)
{
	return rs->memory + (size_t)slot * RS_SLOT_BYTES;
}

char *rs_next_slot(struct rsocket *rs)
{
	return rs_receive_slot(rs, RS_RECEIVES + rs->posted % RS_SLOTS);
}

bool rs_has_slot(const struct rsocket *rs)
{
	return rs->posted - rs->completed < RS_SLOTS;
}

bool rs_may_send(const struct rsocket *rs)
{
	return rs->credits && rs_has_slot(rs);
}

int rs_open_queues(struct rsocket *rs)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = RS_SLOTS + RS_CONTROLS,
			.max_recv_wr = RS_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = INLINE_BYTES},
	};
	void *memory = mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = 0;

	if (memory == MAP_FAILED)
		return ENOMEM;
	rs->memory = memory;
	rs->completions = softverbs_ibv_create_comp_channel(rs->id->verbs);
	if (!rs->completions || fcntl(rs->completions->fd, F_SETFL, O_NONBLOCK))
		return errno;
	rs->cq = softverbs_ibv_create_cq(rs->id->verbs, RS_SLOTS + RS_CONTROLS + RS_RECEIVES, NULL,
					 rs->completions, 0);
	if (!rs->cq)
		return errno;
	attr.send_cq = attr.recv_cq = rs->cq;
	if (softverbs_rdma_create_qp(rs->id, NULL, &attr))
		return errno;
	rs->mr = softverbs_ibv_reg_mr(rs->id->pd, memory, MEMORY_BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (!rs->mr)
		return errno;
	for (uint32_t i = 0; i < RS_RECEIVES && !error; i++)
		error = rs_post_receive(rs, i);
	return error;
}

void rs_close_queues(struct rsocket *rs)
{
	if (rs->id->qp)
		softverbs_rdma_destroy_qp(rs->id);
	for (int i = 0; i < RS_IOMAPS; i++)
		if (rs->own_maps[i].mr)
			softverbs_ibv_dereg_mr(rs->own_maps[i].mr);
	if (rs->mr)
		softverbs_ibv_dereg_mr(rs->mr);
	if (rs->cq)
		softverbs_ibv_destroy_cq(rs->cq);
	if (rs->completions)
		softverbs_ibv_destroy_comp_channel(rs->completions);
	if (rs->memory)
		munmap(rs->memory, MEMORY_BYTES);
}

struct rs_hello rs_hello(void)
{
	return (struct rs_hello){.magic = HELLO_MAGIC, .credits = RS_SLOTS, .slot_bytes = RS_SLOT_BYTES};
}

int rs_take_hello(struct rsocket *rs, const void *private_data, size_t length)
{
	struct rs_hello hello;

	if (!private_data || length < sizeof(hello))
		return EPROTO;
	memcpy(&hello, private_data, sizeof(hello));
	if (hello.magic != HELLO_MAGIC || !hello.slot_bytes)
		return EPROTO;
	rs->credits = hello.credits;
	rs->peer_slot_bytes = hello.slot_bytes < RS_SLOT_BYTES ? hello.slot_bytes : RS_SLOT_BYTES;
	return 0;
}

void rs_fail(struct rsocket *rs, int error)
{
	if (rs->state == RS_FAILED || rs->disconnected)
		return;
	if (!rs->peer_ended || !rs->ended)
		rs->error = error;
	if (rs->state == RS_CONNECTED)
		rs->disconnected = true;
	else
		rs->state = RS_FAILED;
}

int rs_post_receive(struct rsocket *rs, uint32_t slot)
{
	struct ibv_sge sge = {(uintptr_t)rs_receive_slot(rs, slot), RS_SLOT_BYTES, rs->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = receive_id(slot), .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(rs->id->qp, &wr, &bad);
}

int rs_post_slot(struct rsocket *rs, uint32_t length, const struct rs_iomap *to, uint64_t address)
{
	struct ibv_sge sge = {(uintptr_t)rs_next_slot(rs), length, rs->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = ID_SLOT, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
	int error;

	if (to) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.wr.rdma.remote_addr = address;
		wr.wr.rdma.rkey = to->rkey;
	}
	error = ibv_post_send(rs->id->qp, &wr, &bad);
	if (error)
		return error;
	rs->posted++;
	if (!to)
		rs->credits--;
	return 0;
}

bool rs_post_control(struct rsocket *rs, const struct rs_control *control)
{
	struct ibv_sge sge = {(uintptr_t)control, sizeof(*control), 0};
	struct ibv_send_wr wr = {.wr_id = ID_CONTROL,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_INLINE},
			   *bad;

	if (rs->controls == RS_CONTROLS || ibv_post_send(rs->id->qp, &wr, &bad))
		return false;
	rs->controls++;
	return true;
}

void rs_post_due(struct rsocket *rs)
{
	if (rs->state != RS_CONNECTED || rs->disconnected)
		return;
	if (rs->freed >= RS_SLOTS / 2 &&
	    rs_post_control(rs, &(struct rs_control){.type = RS_CREDITS, .value = rs->freed}))
		rs->freed = 0;
	for (int i = 0; i < RS_IOMAPS; i++) {
		struct rs_iomap *map = &rs->own_maps[i];

		if (map->length && !map->mr &&
		    rs_post_control(rs, &(struct rs_control){.type = RS_IOUNMAP, .offset = map->offset}))
			*map = (struct rs_iomap){0};
	}
	if (rs->end_wanted && !rs->ended)
		rs->ended = rs_post_control(rs, &(struct rs_control){.type = RS_END});
}

static void take_iomap(struct rsocket *rs, const struct rs_control *control)
{
	for (int i = 0; i < RS_IOMAPS; i++) {
		struct rs_iomap *map = &rs->peer_maps[i];

		if (control->type == RS_IOUNMAP ? map->length && map->offset == control->offset : !map->length) {
			*map = (struct rs_iomap){.rkey = control->value,
						 .offset = control->offset,
						 .address = control->address,
						 .length = control->length};
			return;
		}
	}
}

static void take_control(struct rsocket *rs, uint32_t slot, uint32_t length)
{
	struct rs_control control;

	if (length != sizeof(control)) {
		rs_fail(rs, EPROTO);
		return;
	}
	memcpy(&control, rs_receive_slot(rs, slot), sizeof(control));
	if (control.type == RS_CREDITS)
		rs->credits += control.value;
	else if (control.type == RS_END)
		rs->peer_ended = true;
	else if (control.type == RS_IOMAP || control.type == RS_IOUNMAP)
		take_iomap(rs, &control);
	if (rs_post_receive(rs, slot))
		rs_fail(rs, EIO);
}

static void take_completion(struct rsocket *rs, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)(wc->wr_id - ID_RECEIVE);

	rs->moves++;
	if (wc->wr_id == ID_SLOT)
		rs->completed++;
	else if (wc->wr_id == ID_CONTROL)
		rs->controls--;
	if (wc->status) {
		/* What was not posted by then is flushed when either end disconnects. */
		rs_fail(rs, wc->status == IBV_WC_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET);
		return;
	}
	if (wc->wr_id < ID_RECEIVE)
		return;
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		take_control(rs, slot, wc->byte_len);
	else if (rs->arrival_count == RS_SLOTS)
		rs_fail(rs, EPROTO); /* more than there were credits */
	else
		rs->arrivals[(rs->arrival_head + rs->arrival_count++) % RS_SLOTS] =
			(struct rs_arrival){slot, 0, wc->byte_len};
}

void rs_take_completions(struct rsocket *rs)
{
	struct ibv_cq *cq;
	struct ibv_wc wc[16];
	void *context;
	int count;

	while (!rs->sleepers && !softverbs_ibv_get_cq_event(rs->completions, &cq, &context))
		softverbs_ibv_ack_cq_events(rs->cq, 1);
	while ((count = ibv_poll_cq(rs->cq, 16, wc)) > 0)
		for (int i = 0; i < count; i++)
			take_completion(rs, &wc[i]);
}

void rs_progress(struct rsocket *rs)
{
	struct pollfd event = {.fd = rs->fd, .events = POLLIN};
	bool was_disconnected = rs->disconnected;

	/*
	 * Events first: what a peer sent before it disconnected has completed by then. They are left to those who sleep, who
	 * would not wake up without them.
	 */
	if (rs->state != RS_LISTENING && rs->sleepers && poll(&event, 1, 0))
		return;
	if (rs->state != RS_LISTENING && !rs->sleepers)
		rs_take_events(rs);
	if (rs->cq && rs->id->qp)
		rs_take_completions(rs);
	rs_post_due(rs);
	if (rs->disconnected != was_disconnected)
		rs->moves++;
}

void rs_arm(struct rsocket *rs)
{
	if (rs->cq)
		ibv_req_notify_cq(rs->cq, 0);
}

void rs_awake(struct rsocket *rs)
{
	rs->sleepers--;
	rs_progress(rs);
	pthread_cond_broadcast(&rs->woken);
}

/* A cancelled thread that waited for the lock, and has it; it held a reference. */
static void end_waiting(void *owner)
{
	struct rsocket *rs = owner;

	rs->cancel = PTHREAD_CANCEL_DISABLE;
	rs_put(rs);
}

/* One that slept. */
static void end_sleeping(void *owner)
{
	struct rsocket *rs = owner;

	pthread_mutex_lock(&rs->lock);
	rs_awake(rs);
	end_waiting(rs);
}

static void wait_for_sleepers(struct rsocket *rs, int timeout_ms)
{
	int cancel = rs->cancel;
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
	until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cleanup_push(end_waiting, rs);
	cancel_restore(cancel);
	pthread_cond_timedwait(&rs->woken, &rs->lock, &until);
	cancel_put_off();
	pthread_cleanup_pop(0);
	rs->cancel = cancel;
}

/* 0 or EINTR. */
static int sleep_for_all(struct rsocket *rs, int timeout_ms)
{
	struct pollfd fds[2] = {
		{.fd = rs->fd, .events = POLLIN},
		{.fd = rs->completions ? rs->completions->fd : -1, .events = POLLIN},
	};
	int cancel = rs->cancel, error;

	rs->sleepers++;
	pthread_mutex_unlock(&rs->lock);
	pthread_cleanup_push(end_sleeping, rs);
	cancel_restore(cancel);
	error = poll(fds, 2, timeout_ms) < 0 ? errno : 0;
	cancel_put_off();
	pthread_cleanup_pop(0);
	pthread_mutex_lock(&rs->lock);
	rs->cancel = cancel;
	rs_awake(rs);
	return error;
}

int rs_wait(struct rsocket *rs, int timeout_ms)
{
	int sleep_ms = timeout_ms < 0 || timeout_ms > SLEEP_MS ? SLEEP_MS : timeout_ms;
	uint64_t moves = rs->moves;

	if (rs->sleepers) {
		wait_for_sleepers(rs, sleep_ms);
		return 0;
	}
	rs_arm(rs);
	rs_progress(rs);
	return rs->moves == moves ? sleep_for_all(rs, sleep_ms) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/qp_fault.h"

#include "fault/fault_control.h"
#include "fault/fault_rules.h"
#include "lock.h"
#include "process/log.h"
#include "process/progress.h"
#include "queue/cq.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Returns true if the main thread of the process is stopped, dead or gone. */
static bool has_ended(pid_t pid)
{
	char path[32], text[512], *state;
	FILE *file;
	size_t length;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return true;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = 0;
	state = strrchr(text, ')');
	return !state || !state[1] || strchr("TtZX", state[2]);
}

/* Waits until the signal has taken effect, because until then the peer could still serve the request. */
static void wait_for_end(pid_t pid)
{
	static const struct timespec pause = {.tv_nsec = 1000000};

	for (int i = 0; i < 100 && !has_ended(pid); i++)
		nanosleep(&pause, NULL);
	nanosleep(&pause, NULL); /* for its other threads */
}

static void send_signal(const struct softdev_qp *qp, int signal)
{
	/* The pid is 0 if the peer is in another PID namespace or on another host. */
	if (qp->requester.peer_pid > 0 && qp->requester.peer_pid != getpid()) {
		if (!kill(qp->requester.peer_pid, signal))
			wait_for_end(qp->requester.peer_pid);
	} else {
		log_error("fault %s: the peer has no process of its own here (pid %d)",
			  signal == SIGKILL ? "killpeer" : "stoppeer", (int)qp->requester.peer_pid);
	}
}

void fault_apply_to_wr(struct softdev_qp *qp, struct wqe *wqe)
{
	const struct fault_subject subject = {
		.kind = wqe->opcode,
		.qpn = qp->base.qp_num,
		.length = wqe->length,
		.remote = qp->requester.peer_pid != getpid(),
	};

	if (wqe->opcode == IBV_WR_RDMA_READ)
		wqe->fault = fault_hit(FAULT_READ, &subject);
	if (!wqe->fault)
		wqe->fault = fault_hit(FAULT_WR, &subject);
	if (!wqe->fault)
		return;
	if (wqe->fault->kill_peer)
		send_signal(qp, SIGKILL);
	if (wqe->fault->stop_peer)
		send_signal(qp, SIGSTOP);
}

/* Damages a part of the message, which begins with byte `start` of it. */
static void spoil(const struct fault *fault, volatile uint8_t *bytes, uint64_t start, uint64_t length)
{
	if (fault->flip && fault->offset >= start && fault->offset - start < length)
		bytes[fault->offset - start] ^= 1;
	for (uint64_t at = 0; fault->truncate >= 0 && at < length; at++)
		if (start + at >= (uint64_t)fault->truncate)
			bytes[at] = 0;
}

void fault_spoil_read(const struct wqe *wqe)
{
	uint64_t start = 0;

	for (int i = 0; i < wqe->num_sge; i++) {
		const struct ibv_sge *sge = &wqe->sge[i];
		struct softdev_mr *mr;

		if (sge->length && !mr_acquire(wqe->qp->pd, KEY_LOCAL, sge->lkey, sge->addr, sge->length,
					       IBV_ACCESS_LOCAL_WRITE, &mr)) {
			spoil(wqe->fault, (volatile uint8_t *)mr_pointer(mr, sge->addr), start, sge->length);
			mr_release(mr);
		}
		start += sge->length;
	}
}

struct raising {
	struct progress_task task;
	enum ibv_event_type type;
	uint32_t qpn; /* 0 = all */
	unsigned int raised;
};

static bool concerns(const struct softdev_qp *qp, const struct raising *raising)
{
	return !raising->qpn || qp->base.qp_num == raising->qpn;
}

static void fail_queues(struct softdev_qp *qp, void *argument)
{
	struct raising *raising = argument;

	if (!concerns(qp, raising))
		return;
	cq_fail(qp->send_cq);
	if (qp->recv_cq != qp->send_cq)
		cq_fail(qp->recv_cq);
	raising->raised++;
}

static void raise_on_qp(struct softdev_qp *qp, void *argument)
{
	struct raising *raising = argument;
	bool failed = raising->type == IBV_EVENT_QP_FATAL || raising->type == IBV_EVENT_QP_REQ_ERR ||
		      raising->type == IBV_EVENT_QP_ACCESS_ERR;

	if (!concerns(qp, raising))
		return;
	if (qp->rq.srq && srq_raise_type(qp->rq.srq, raising->type))
		raising->raised++;
	HOLD_LOCK(&qp->lock);
	if (!qp_raise_type(qp, raising->type))
		return;
	raising->raised++;
	if (failed)
		qp_enter_error(qp);
}

static void stop_qp(struct softdev_qp *qp, void *unused)
{
	(void)unused;
	HOLD_LOCK(&qp->lock);
	qp_enter_error(qp);
}

/* Returns the number of objects that it was raised on. Progress thread. */
static unsigned int raise_event(enum ibv_event_type event, uint32_t qpn)
{
	struct raising raising = {.type = event, .qpn = qpn};

	if (raising.type == IBV_EVENT_CQ_ERR)
		qp_for_each(fail_queues, &raising);
	else
		qp_for_each(raise_on_qp, &raising);
	raising.raised += device_raise(raising.type);
	if (raising.type == IBV_EVENT_DEVICE_FATAL)
		qp_for_each(stop_qp, NULL);
	return raising.raised;
}

static void raise_now(void *owner)
{
	struct raising *raising = owner;

	raise_event(raising->type, raising->qpn);
	free(raising);
}

void qp_fault_raise(int event, uint32_t qpn)
{
	struct raising *raising = malloc(sizeof(*raising));

	if (!raising) {
		log_error("no memory to raise event %d", event);
		return;
	}
	*raising = (struct raising){.task = {.callback = raise_now, .owner = raising}, .type = event, .qpn = qpn};
	progress_post(&raising->task);
}

void qp_fault_raise_command(char *text, struct fault_answer *answer)
{
	char *rest = fault_cut_word(text), message[FAULT_MAX_MESSAGE];
	struct fault_words where;
	uint64_t event;

	if (!fault_parse_name("event", text, fault_async_names, 0, FAULT_MAX_ASYNC, &event, message))
		fault_say(answer, "error %s", message);
	else if (fault_parse_words(rest, false, &where, answer))
		fault_say(answer, "ok raised on %u", raise_event(event, where.qpn));
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "fault/fault_wr.h"

#include "process/log.h"

#include <signal.h>
#include <stdio.h>
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

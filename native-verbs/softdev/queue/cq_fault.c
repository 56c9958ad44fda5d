/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/cq_fault.h"

#include "fault/fault.h"
#include "fault/fault_hold.h"
#include "process/log.h"
#include "process/progress.h"
#include "queue/qp.h"

#include <stdlib.h>

#define MS 1000000ull

struct held_completion {
	struct fault_held held;
	struct softdev_cq *cq;
	struct cqe entry;
	bool solicited;
};

static struct held_completion *of(struct fault_held *held)
{
	return container_of_(held, struct held_completion, held);
}

static void let_go(struct fault_held *held)
{
	cq_push_now(of(held)->cq, &of(held)->entry, of(held)->solicited);
	free(of(held));
}

static void forget(struct fault_held *held)
{
	if (of(held)->entry.shared_receive)
		qp_free_slots(&of(held)->entry);
	free(of(held));
}

/* Returns false if the completion need not wait. */
static bool hold(struct softdev_cq *cq, const struct cqe *entry, bool solicited, uint64_t due_ns)
{
	const void *queue = entry->is_send ? (void *)&entry->qp->sq : (void *)&entry->qp->rq;
	struct held_completion *completion = malloc(sizeof(*completion));

	if (!completion) {
		log_error("no memory to hold a completion back: it is lost");
		return true;
	}
	*completion = (struct held_completion){
		.held = {.of = queue, .in_order = true, .let_go = let_go}, .cq = cq, .entry = *entry, .solicited = solicited};
	if (fault_hold(&completion->held, due_ns))
		return true;
	free(completion);
	return false;
}

bool fault_takes_completion(struct softdev_cq *cq, const struct cqe *entry, bool solicited)
{
	const struct fault *fault =
		fault_check(FAULT_COMPLETION, .kind = entry->wc.opcode, .qpn = entry->wc.qp_num,
			    .length = entry->wc.byte_len, .result = entry->wc.status);
	uint64_t due_ns = fault && fault->delay_ms ? progress_now_ns() + fault->delay_ms * MS : 0;
	struct cqe twin = *entry;

	if (fault && fault->drop)
		return true;
	if (fault && fault->overrun) {
		cq_fail(cq);
		return true;
	}
	twin.shared_receive = NULL; /* the other one of the two returns it */
	if (fault && fault->duplicate && !hold(cq, &twin, solicited, due_ns))
		cq_push_now(cq, &twin, solicited);
	return hold(cq, entry, solicited, due_ns);
}

void fault_forget_completions(const struct softdev_qp *qp)
{
	fault_hold_end(&qp->sq, forget);
	fault_hold_end(&qp->rq, forget);
}

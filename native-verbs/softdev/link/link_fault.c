/* SPDX-License-Identifier: Apache-2.0 */
#include "link/link_fault.h"

#include "engine.h"
#include "fault/fault_control.h"
#include "link/link_internal.h"

#include <errno.h>
#include <string.h>

#define MS 1000000ull
#define SECOND 1000000000ull

struct link_fault_state {
	struct list links; /* all links that are not closed */
	/* The faults of new links, set by a command that applied to all links. */
	struct {
		bool silent, refuse;
		uint64_t rate, delay_ns;
	} policy;
};

ENGINE_PART(link_fault, NULL);

static uint32_t qpn_of(const struct link *link)
{
	return link->ops && link->ops->qp_number ? link->ops->qp_number(link->owner) : 0;
}

static void hold(struct link *link, uint64_t until_ns)
{
	link->fault.held = true;
	if (until_ns)
		progress_timer_set(&link->fault.resume, until_ns);
	link_update_events(link);
}

static void on_resume(void *owner)
{
	struct link *link = owner;

	link->fault.held = link->fault.silent;
	link_update_events(link);
	if (link->fault.delayed && !link->fault.held) /* the header has been read, so no further event may come */
		link_receive(link);
}

static void silence(struct link *link)
{
	link->fault.silent = true;
	hold(link, 0);
}

void link_fault_begin(struct link *link)
{
	link->fault.resume = (struct progress_timer){.callback = on_resume, .owner = link};
	link->fault.rate = engine->link_fault->policy.rate;
	link->fault.delay_ns = engine->link_fault->policy.delay_ns;
	link->fault.silent = link->fault.held = engine->link_fault->policy.silent;
	list_add(&engine->link_fault->links, &link->fault.place);
}

void link_fault_end(struct link *link)
{
	progress_timer_cancel(&link->fault.resume);
	list_remove(&link->fault.place);
}

int link_fault_refuses(struct link *link)
{
	const struct fault *fault = fault_check(FAULT_LINK, .kind = link->kind);

	if (engine->link_fault->policy.refuse || (fault && fault->refuse))
		return ECONNREFUSED;
	if (!fault)
		return 0;
	link->fault.silent = link->fault.held = fault->silence;
	link->fault.rate = fault->rate;
	link->fault.delay_ns = fault->delay_ms * MS;
	return 0;
}

int link_fault_judge_frame(struct link *link)
{
	const struct fault *fault;

	link->fault.frame = NULL;
	link->fault.drop = false;
	if (link->state != LINK_OPEN)
		return 0;
	fault = fault_check(link->kind == LINK_KIND_QP ? FAULT_FRAME : FAULT_CM_FRAME, .kind = link->in.op,
			    .qpn = qpn_of(link), .length = link->in.length);
	if (!fault)
		return 0;
	link->fault.frame = fault;
	link->fault.drop = fault->drop;
	if (fault->cut)
		return -ENODATA;
	if (fault->silence)
		silence(link);
	else if (fault->delay_ms)
		hold(link, progress_now_ns() + fault->delay_ms * MS);
	else
		return 0;
	link->fault.delayed = true;
	return -EAGAIN;
}

int link_fault_reason(const struct link *link)
{
	return link->fault.frame ? link->fault.frame->reason : -1;
}

/* Flips bit 0 of the payload byte at the fault's offset, if it is among the bytes just received. */
static void flip(const struct link *link, const struct iovec *iov, ssize_t got)
{
	uint64_t start = link->in_offset, offset = link->fault.frame->offset;

	if (offset < start || offset >= start + (uint64_t)got)
		return;
	offset -= start;
	for (; offset >= iov->iov_len; iov++)
		offset -= iov->iov_len;
	((uint8_t *)iov->iov_base)[offset] ^= 1;
}

static void slow_down(struct link *link, uint64_t bytes)
{
	hold(link, progress_now_ns() + bytes * SECOND / link->fault.rate);
}

ssize_t link_fault_payload(struct link *link, const struct iovec *iov, ssize_t got)
{
	const struct fault *fault = link->fault.frame;

	if (got <= 0)
		return got;
	if (link->fault.rate)
		slow_down(link, got);
	if (!fault)
		return got;
	if (fault->truncate >= 0 && link->in_offset + got > (uint64_t)fault->truncate)
		return -ENODATA;
	if (fault->flip)
		flip(link, iov, got);
	return got;
}

bool link_fault_defers(struct link *link)
{
	if (!link->fault.delay_ns || link->fault.arrived_ns) {
		link->fault.arrived_ns = 0;
		return false;
	}
	link->fault.arrived_ns = progress_now_ns();
	hold(link, link->fault.arrived_ns + link->fault.delay_ns);
	return true;
}

enum order { CUT, SILENCE, SLOW, REFUSE, HEAL, ORDERS };

static void obey(struct link *link, enum order order, const struct fault_words *words)
{
	if (order == SILENCE) {
		silence(link);
	} else if (order == SLOW) {
		link->fault.rate = words->rate;
		link->fault.delay_ns = words->delay_ms * MS;
	} else if (order == HEAL) {
		link->fault.silent = false;
		link->fault.rate = link->fault.delay_ns = link->fault.arrived_ns = 0;
		progress_timer_set(&link->fault.resume, progress_now_ns());
	}
}

static bool concerns(const struct link *link, uint32_t qpn)
{
	return !qpn || qpn_of(link) == qpn;
}

static struct link *find_concerned(uint32_t qpn)
{
	LIST_EACH(at, &engine->link_fault->links) {
		struct link *link = container_of_(at, struct link, fault.place);

		if (concerns(link, qpn))
			return link;
	}
	return NULL;
}

/* Closing a link may close others, so the search starts again after each; `bound` ends it. */
static unsigned int cut(uint32_t qpn)
{
	unsigned int bound = 0, done = 0;
	struct link *link;

	LIST_EACH(at, &engine->link_fault->links)
		bound++;
	for (; done < bound && (link = find_concerned(qpn)); done++)
		link_fail(link, 0);
	return done;
}

static unsigned int obey_all(enum order order, const struct fault_words *words)
{
	unsigned int done = 0;

	LIST_EACH(at, &engine->link_fault->links) {
		struct link *link = container_of_(at, struct link, fault.place);

		if (concerns(link, words->qpn)) {
			done++;
			obey(link, order, words);
		}
	}
	return done;
}

/* What the order means for links that are made later. */
static void set_policy(enum order order, const struct fault_words *words)
{
	struct link_fault_state *state = engine->link_fault;

	if (order == HEAL)
		state->policy.silent = state->policy.refuse = false;
	state->policy.silent |= order == SILENCE;
	state->policy.refuse |= order == REFUSE;
	if (order == SLOW || order == HEAL) {
		state->policy.rate = words->rate;
		state->policy.delay_ns = words->delay_ms * MS;
	}
}

void link_fault_command(char *text, struct fault_answer *answer)
{
	static const char *const names[] = {
		[CUT] = "cut", [SILENCE] = "silence", [SLOW] = "slow", [REFUSE] = "refuse", [HEAL] = "heal",
	};
	char *rest = fault_cut_word(text);
	struct fault_words words;
	enum order order = CUT;

	while (order < ORDERS && strcmp(text, names[order]))
		order++;
	if (order == ORDERS) {
		fault_say(answer, "error links %s: use cut, silence, slow, refuse or heal", text);
		return;
	}
	if (!fault_parse_words(rest, order == SLOW, &words, answer))
		return;
	if (order == SLOW && !words.rate && !words.delay_ms) {
		fault_say(answer, "error links slow: use rate=BYTES (a second), delay=MS, or both");
		return;
	}
	fault_say(answer, "ok links %u", order == CUT ? cut(words.qpn) : obey_all(order, &words));
	if (!words.qpn)
		set_policy(order, &words);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effects of faults on links (cut, silent, slow) and on the frames that arrive on them. They act on the receiving end,
 * except silence, which stops both directions. Progress thread only.
 */
#ifndef SOFTDEV_LINK_FAULT_H
#define SOFTDEV_LINK_FAULT_H

#include "fault/fault.h"
#include "process/progress.h"

#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct link;

/* Part of every link. */
struct link_fault {
	struct link *previous, *next;
	bool held; /* silent, or waiting for its turn: neither read nor written, nor watched */
	bool silent, delayed, drop;
	uint64_t rate, delay_ns;
	uint64_t arrived_ns; /* of what waits for delay_ns, 0 = nothing */
	struct progress_timer resume;
	const struct fault *frame; /* for the payload that comes in */
};

void link_fault_begin(struct link *link);
void link_fault_end(struct link *link);
/* Returns the errno with which a connect fails, or 0. */
int link_fault_refuses(struct link *link);

int link_fault_judge_frame(struct link *link);
/* Applies the faults to a frame whose header has come: 0, -EAGAIN to take it later, or -ENODATA as if the peer had closed. */
static inline int link_fault_frame(struct link *link)
{
	return fault_is_on() ? link_fault_judge_frame(link) : 0;
}
/* Returns the reason with which to reject the connect request that has just come on this link, or -1. */
int link_fault_reason(const struct link *link);
/* Returns how much of the rest of a payload may be read at once: on a slow link as much as 10 ms bring. */
static inline uint64_t link_fault_room(const struct link_fault *fault, uint64_t rest)
{
	return fault->rate && fault->rate / 100 < rest ? fault->rate / 100 + 1 : rest;
}
/* Applies the faults to `got` bytes of payload in iov; returns what the caller takes them for. */
ssize_t link_fault_payload(struct link *link, const struct iovec *iov, ssize_t got);
/* Returns true if the socket is readable but the link must not be read yet. */
bool link_fault_defers(struct link *link);

/* A command of the control socket; `qpn` 0 means every link. Returns the number of links that it was applied to. */
enum link_order { LINK_ORDER_CUT, LINK_ORDER_SILENCE, LINK_ORDER_SLOW, LINK_ORDER_REFUSE, LINK_ORDER_HEAL,
		  LINK_ORDERS };
struct link_command {
	enum link_order order;
	uint32_t qpn;
	uint64_t rate;
	uint32_t delay_ms;
};
unsigned int link_fault_command(const struct link_command *command);

#endif

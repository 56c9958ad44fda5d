/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies faults to links (cut, silent, slow) and to the frames that arrive on them. Faults act at the receiving end,
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

/* Embedded in every link. */
struct link_fault {
	struct list place; /* in the list of all links that are not closed */
	bool held; /* silent or delayed: the link is neither read, written nor watched */
	bool silent, delayed, drop;
	uint64_t rate, delay_ns;
	uint64_t arrived_ns; /* when the input that is delayed by delay_ns arrived; 0 = none */
	struct progress_timer resume;
	const struct fault *frame; /* the fault of the frame that is being received */
};

void link_fault_begin(struct link *link);
void link_fault_end(struct link *link);
/* Returns the errno with which a connect fails, or 0. */
int link_fault_refuses(struct link *link);

int link_fault_judge_frame(struct link *link);
/*
 * Applies the faults to a frame whose header has arrived. Returns 0; -EAGAIN to handle the frame later; or -ENODATA to
 * act as if the peer had closed the link.
 */
static inline int link_fault_frame(struct link *link)
{
	return fault_is_on() ? link_fault_judge_frame(link) : 0;
}
/* Returns the reason with which to reject the connect request that has just arrived on this link, or -1. */
int link_fault_reason(const struct link *link);
/* Returns how many of the remaining payload bytes to read at once: on a slow link, what its rate allows in 10 ms. */
static inline uint64_t link_fault_room(const struct link_fault *fault, uint64_t rest)
{
	return fault->rate && fault->rate / 100 < rest ? fault->rate / 100 + 1 : rest;
}
/* Applies the faults to the `got` bytes of payload in iov. Returns the result that the caller then acts on. */
ssize_t link_fault_payload(struct link *link, const struct iovec *iov, ssize_t got);
/* Returns true if the socket is readable but the link must not be read yet. */
bool link_fault_defers(struct link *link);

struct fault_answer;
/* The command "links cut|silence|slow|refuse|heal ..." (fault_control.h). */
void link_fault_command(char *text, struct fault_answer *answer);

#endif

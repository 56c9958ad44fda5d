/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Those that have connected to a listener and have not proved yet who they are. There is room for few of them. Each may stay
 * for a while; when it is full, one whose time is over gives way to one more. If there is none, whoever comes waits in the
 * backlog of the kernel until one has left, or its time is over. Progress thread only.
 */
#ifndef SOFTDEV_STRANGERS_H
#define SOFTDEV_STRANGERS_H

#include "process/progress.h"

#include <stdbool.h>
#include <stdint.h>

enum { MAX_STRANGERS = 256 };

/* Embedded in whoever has connected; begins as zeros. */
struct stranger {
	struct list place;	   /* in the list of all, if it is a stranger */
	uint64_t until_ns; /* it need not give way before */
	void (*drop)(void *owner); /* ends it, and calls stranger_leave() */
	void *owner;
};

void stranger_enter(struct stranger *stranger, uint64_t stay_ns, void (*drop)(void *owner), void *owner);
/* It has proved who it is, or has ended. */
void stranger_leave(struct stranger *stranger);

/* One who waits outside. Embedded in a listener; begins as zeros but for the callback and its owner. */
struct outside {
	struct list place;
	void (*on_room)(void *owner);
	void *owner;
};

/* Returns true if there is room. Otherwise on_room(), once there is some. */
bool strangers_have_room(struct outside *outside);

#endif

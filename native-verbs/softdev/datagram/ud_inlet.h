/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket from which datagrams are read, on the progress thread. While too many wait for receives of their queue pair
 * (ud_receive.h), a lossless socket is not read any further, so that its sender waits. Another socket loses what comes for
 * that queue pair, but never keeps other queue pairs waiting.
 */
#ifndef SOFTDEV_UD_INLET_H
#define SOFTDEV_UD_INLET_H

#include "process/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct ud_stopped;

/* Embedded in its owner, zero-initialised but for the first four. */
struct ud_inlet {
	int fd;
	bool lossless;
	/* Genuine datagrams came in, or -errno: -EPIPE at the end of a connection, -EBADMSG for anything else. May close it. */
	void (*callback)(void *owner, int error);
	void *owner;
	struct progress_watch watch;
	struct progress_timer timer;
	struct ud_stopped *stopped; /* what could not be delivered yet; NULL: it is read */
};

/* 0 or -errno. */
int ud_inlet_open(struct ud_inlet *inlet);
/* No callback afterwards; the descriptor stays the owner's. */
void ud_inlet_close(struct ud_inlet *inlet);

#endif

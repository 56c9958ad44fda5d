/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket that datagrams come out of, on the progress thread. One whose queue pair has no receive posted right now
 * waits a moment for it, and what is behind it in the socket too: applications post again what they have just polled.
 */
#ifndef SOFTDEV_UD_INLET_H
#define SOFTDEV_UD_INLET_H

#include "progress.h"

#include <stdint.h>

struct held_datagram;

/* Embedded in its owner, zero-initialised but for the first three. */
struct ud_inlet {
	int fd;
	/* Genuine datagrams came in, or -errno: -EPIPE at the end of a connection, -EBADMSG for anything else. May close it. */
	void (*callback)(void *owner, int error);
	void *owner;
	struct progress_watch watch;
	struct progress_timer timer;
	struct held_datagram *held;
	uint64_t give_up_ns;
};

/* 0 or -errno. */
int ud_inlet_open(struct ud_inlet *inlet);
/* No callback afterwards; the descriptor stays the owner's. */
void ud_inlet_close(struct ud_inlet *inlet);

#endif

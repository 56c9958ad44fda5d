/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket from which the progress thread reads datagrams. While too many wait for receives of their queue pair
 * (ud_receive.h), a lossless socket is not read, so that its sender waits. Any other socket loses what arrives for that
 * queue pair, but never keeps other queue pairs waiting.
 */
#ifndef SOFTDEV_UD_INLET_H
#define SOFTDEV_UD_INLET_H

#include "process/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct ud_stopped;

/* Embedded in its owner, which sets the first four fields; the others begin as zeros. */
struct ud_inlet {
	int fd;
	bool lossless;
	/*
	 * Called for an error: -EPIPE at the end of a connection, -EBADMSG for what is no genuine datagram, or another
	 * -errno. May close the inlet. May be NULL.
	 */
	void (*callback)(void *owner, int error);
	void *owner;
	struct progress_watch watch;
	struct progress_timer timer;
	struct ud_stopped *stopped; /* the datagram that could not be delivered yet; NULL while the socket is read */
};

/* 0 or -errno. */
int ud_inlet_open(struct ud_inlet *inlet);
/* No callback follows. The descriptor still belongs to the owner. */
void ud_inlet_close(struct ud_inlet *inlet);

#endif

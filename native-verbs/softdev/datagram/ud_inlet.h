/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP sockets from which the progress thread reads datagrams: one for each port of the process, and one for each group. */
#ifndef SOFTDEV_UD_INLET_H
#define SOFTDEV_UD_INLET_H

#include "datagram/ud_wire.h"
#include "process/progress.h"

#include <stdint.h>

struct softdev_qp;

/* Embedded in its owner, which sets the callback, the owner and the descriptor of the watch. */
struct ud_inlet {
	/* Called for each genuine datagram (ud_genuine.h). */
	void (*on_datagram)(void *owner, const struct ud_header *header, uint8_t *payload, uint32_t length);
	void *owner;
	struct progress_watch watch;
};

/* 0 or -errno. No callback follows when the owner has removed the watch, whose descriptor stays its own. Progress thread. */
int ud_inlet_open(struct ud_inlet *inlet);

/* Opens the inlet of the queue pair's port, which stays open, if it is not open yet. Returns 0. Any thread. */
int ud_open_port(struct softdev_qp *qp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The UDP sockets from which the progress thread reads datagrams: one for each port of the process, and one for each group. */
#ifndef SOFTDEV_UD_INLET_H
#define SOFTDEV_UD_INLET_H

#include "datagram/ud_wire.h"
#include "process/progress.h"

#include <stdint.h>

/* Embedded in its owner, which sets the first three fields; the others begin as zeros. */
struct ud_inlet {
	int fd;
	/* Called for each genuine datagram (ud_genuine.h). */
	void (*on_datagram)(void *owner, const struct ud_header *header, uint8_t *payload, uint32_t length);
	void *owner;
	struct progress_watch watch;
};

/* 0 or -errno. Progress thread, as the next. */
int ud_inlet_open(struct ud_inlet *inlet);
/* No callback follows. The descriptor still belongs to the owner. */
void ud_inlet_close(struct ud_inlet *inlet);

/* Opens the inlet of that port, which stays open, if it is not open yet. Any thread. */
void ud_open_port(uint16_t port);

#endif

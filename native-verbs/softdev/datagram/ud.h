/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unreliable datagram queue pairs: what they have beside the queues of every queue pair (qp.h). A send is complete
 * when the kernel has taken the datagram. One that finds no room waits a moment for it (the queue behind it too) and
 * is lost if there is none. ud_receive.c has the other direction.
 */
#ifndef SOFTDEV_UD_H
#define SOFTDEV_UD_H

#include "datagram/ah.h"
#include "datagram/ud_peer.h"
#include "datagram/ud_wire.h"
#include "process/progress.h"
#include "queue/qp.h"

struct ud_address {
	struct ud_route route;
	uint32_t qpn, qkey;
};

/* What waits for a receive (ud_receive.c); progress thread only. */
struct ud_inbox {
	struct list held; /* oldest first */
	int count;
	uint64_t give_up_ns; /* when the oldest has waited long enough */
	struct progress_timer timer;
};

struct ud_queue {
	struct ud_address *to; /* of each slot of the send queue */
	bool waiting;	       /* qp->lock: the oldest found no room */
	uint64_t give_up_ns;   /* qp->lock: when that one is lost; 0: it has not been tried */
	bool told_too_long;    /* who runs the queue: a datagram beyond the MTU was warned of */
	struct ud_waiter waiter;
	bool dry; /* qp->lock: waiting for a receive was in vain; until there is one nobody waits again */
	struct ud_inbox inbox;
};

/* UD. */
extern const struct qp_transport datagram_transport;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What unreliable datagram queue pairs have besides the queues of every queue pair (qp.h). A send is complete when the
 * kernel has taken the datagram. A thread that posts one for which there is no room waits a moment for some; then the datagram is
 * lost. ud_receive.c has the other direction.
 */
#ifndef SOFTDEV_UD_H
#define SOFTDEV_UD_H

#include "datagram/ah.h"
#include "datagram/ud_wire.h"
#include "process/progress.h"
#include "queue/qp.h"

struct ud_address {
	struct ud_route route;
	uint32_t qpn, qkey;
};

/* The datagrams that wait for a receive (ud_receive.c). Progress thread only. */
struct ud_inbox {
	struct list held; /* oldest first */
	int count;
	uint64_t give_up_ns; /* when the oldest has waited long enough, and all are lost */
	struct progress_timer timer;
};

struct ud_queue {
	bool told_too_long; /* there was a warning of a datagram beyond the MTU; for the thread that runs the queue */
	bool dry; /* a datagram waited for a receive in vain, so none waits until there is one; guarded by qp->lock */
	struct ud_inbox inbox;
	atomic_int groups; /* that the queue pair is attached to (mcast.h) */
	struct ud_address to[]; /* the destination of each slot of the send queue */
};

extern const struct qp_transport datagram_transport;

#endif

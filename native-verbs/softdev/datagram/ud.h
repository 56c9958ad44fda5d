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

struct ud_held;

/* What waits for a receive (ud_receive.c); progress thread only. */
struct ud_inbox {
	struct ud_held *oldest, **last;
	int count;
	uint64_t give_up_ns; /* when the oldest has waited long enough */
	struct progress_timer timer;
};

struct ud_queue {
	struct ud_address *to; /* of each slot of the send queue */
	bool waiting;	       /* qp->lock: the oldest found no room */
	uint64_t give_up_ns;   /* qp->lock: when that one is lost; 0: it has not been tried */
	uint16_t group_next;   /* who runs the queue: where in a group the oldest goes on */
	bool told_too_long;    /* likewise: a datagram beyond the MTU was warned of */
	struct ud_waiter waiter;
	atomic_int groups; /* attached to so many */
	bool dry; /* qp->lock: waiting for a receive was in vain; until there is one nobody waits again */
	struct ud_inbox inbox;
	bool deaf_to_itself; /* what it sends to a group does not come back */
};

/* 0 or a positive errno; gives the queue pair its `ud`, before it has a number (then ud_open_endpoint() is due). */
int ud_create(struct softdev_qp *qp);
void ud_destroy(struct softdev_qp *qp);
/* Progress thread: no callback afterwards. */
void ud_close(struct softdev_qp *qp);

/* qp->lock held. Takes the address of a request along; 0 or a positive errno. */
int ud_take_address(struct softdev_qp *qp, uint32_t slot, const struct ibv_send_wr *wr);
/* qp->lock held; dropped meanwhile. */
void ud_run(struct softdev_qp *qp);

#endif

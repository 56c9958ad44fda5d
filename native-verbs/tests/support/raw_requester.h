/* SPDX-License-Identifier: Apache-2.0 */
/* The requesting end of a queue pair's link without the device: for requests that the device never would send. */
#ifndef SHUFFLE_RDMA_RAW_REQUESTER_H
#define SHUFFLE_RDMA_RAW_REQUESTER_H

#include "raw_responder.h"

enum { RAW_QPN = 0x432107 };

/* What the requester RAW_QPN says of itself to the queue pair at `to`, if that is connected to it. */
static inline struct qp_open raw_requester_open(const struct address *to)
{
	return (struct qp_open){.source_qpn = RAW_QPN,
				.destination_qpn = to->qpn,
				.source_gid = to->gid,
				.destination_gid = to->gid,
				.qp_type = IBV_QPT_RC};
}

/* Connects to the process, and opens the queue pair; the reply is still to come. */
static inline int raw_requester_connect(const struct qp_open *open)
{
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(*open)};
	int fd = raw_link_connect(open->destination_qpn >> 8);

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	CHECK(raw_write_frame(fd, &frame, open));
	return fd;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CM events that DiSNI has read and not acknowledged. Its acknowledgement names only the event's
 * type, and programs may forget it; so an event is held until the reading thread acknowledges an
 * event of that type, reads the channel again, or destroys the id or the channel.
 */
#ifndef DISNI_HELD_EVENTS_H
#define DISNI_HELD_EVENTS_H

#include <rdma/rdma_cma.h>

/* 0, or -1 if there is no memory to hold it. */
int held_events_add(const struct rdma_event_channel *channel, struct rdma_cm_event *event);

void held_events_ack_type(int type);
void held_events_ack_channel(const struct rdma_event_channel *channel);
void held_events_ack_id(const struct rdma_cm_id *id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the GID table (core.h) that only this folder uses: the kinds of GIDs, and following the host's changes. */
#ifndef SOFTDEV_GID_TABLE_H
#define SOFTDEV_GID_TABLE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

bool gid_is_mapped_v4(const union ibv_gid *gid);
bool gid_is_loopback(const union ibv_gid *gid);
bool gid_is_link_local(const union ibv_gid *gid);

/* Returns the interface that has this address; 0 if it is not known. */
uint32_t gid_interface(const union ibv_gid *gid);

/*
 * Makes the table follow the addresses of the host and raise IBV_EVENT_GID_CHANGE. A GID keeps its index while the host
 * has its address; an address that goes leaves an empty entry, which the next address that comes takes. Starts the
 * progress thread. Any thread.
 */
void gid_table_follow(void);

#endif

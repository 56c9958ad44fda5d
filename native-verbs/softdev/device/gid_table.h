/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the GID table (see core.h): what kind of address a GID is, and following the changes of the host. */
#ifndef SOFTDEV_GID_TABLE_H
#define SOFTDEV_GID_TABLE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

bool gid_is_mapped_v4(const union ibv_gid *gid);
bool gid_is_loopback(const union ibv_gid *gid);
bool gid_is_link_local(const union ibv_gid *gid);

/*
 * From here on the table follows the addresses of the host, with IBV_EVENT_GID_CHANGE: a GID keeps its index as long as
 * its address is there, an address that goes leaves an empty entry behind, and the next one that comes takes it. Starts
 * the progress thread. Any thread.
 */
void gid_table_follow(void);

#endif

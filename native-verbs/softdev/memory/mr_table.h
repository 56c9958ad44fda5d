/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of the keys of regions and memory windows: key >> 16 is the slot. A region in the table that is not visible
 * cannot be found by its key.
 */
#ifndef SOFTDEV_MR_TABLE_H
#define SOFTDEV_MR_TABLE_H

#include "memory/mr.h"

/* Gives the region a slot and keys; it is not visible yet. 0 or a positive errno. */
int mr_table_add(struct softdev_mr *mr);
/* Makes the region visible: it can be acquired, and peers that check READs themselves see it. */
void mr_table_show(struct softdev_mr *mr);
/*
 * Hides the region and waits until nobody holds it. Returns 0, ENOENT if it is not in the table, EBUSY while windows are bound,
 * and EAGAIN if it is hidden, but still held after a second; then it is to be called, or the region shown, again.
 */
int mr_table_hide(struct softdev_mr *mr);
/* Frees the slot of a hidden region. */
void mr_table_remove(struct softdev_mr *mr);

/* Returns true if the region is in that slot. The pointer is not followed. */
bool mr_table_has(uint32_t slot, const struct softdev_mr *mr);
/*
 * Counts a window that is bound to the region of that slot; returns false if the region is not there or not visible.
 * mr_table_unbind() counts it down.
 */
bool mr_table_bind(uint32_t slot, struct softdev_mr *mr);
void mr_table_unbind(struct softdev_mr *mr);

/* Holds the visible region in the slot of that key and returns it; NULL if there is none. */
struct softdev_mr *mr_table_hold(uint32_t key);

#endif

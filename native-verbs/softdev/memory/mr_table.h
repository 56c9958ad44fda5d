/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of keys, of regions and memory windows: key >> 16 is the slot. A region can be in it without being visible
 * to those who come with a key.
 */
#ifndef SOFTDEV_MR_TABLE_H
#define SOFTDEV_MR_TABLE_H

#include "memory/mr.h"

/* Takes a slot and keys; not visible yet. 0 or an errno. */
int mr_table_add(struct softdev_mr *mr);
/* Lets it be acquired, and makes it known to peers that check READs themselves. */
void mr_table_show(struct softdev_mr *mr);
/* The opposite; waits until nobody holds it. 0, ENOENT if it is not visible, EBUSY while windows are bound to it. */
int mr_table_hide(struct softdev_mr *mr);
/* Gives the slot of a hidden one back. */
void mr_table_remove(struct softdev_mr *mr);

/* Is it in that slot? The pointer is not followed. */
bool mr_table_has(uint32_t slot, const struct softdev_mr *mr);
/* A window is bound to the region of that slot, and unbound. False if it is not there, or not visible. */
bool mr_table_bind(uint32_t slot, struct softdev_mr *mr);
void mr_table_unbind(struct softdev_mr *mr);

/* Whatever is in the slot of that key, visible and held, or NULL. */
struct softdev_mr *mr_table_hold(uint32_t key);

#endif

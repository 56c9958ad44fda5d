/* SPDX-License-Identifier: Apache-2.0 */
/* The descriptors that the progress thread watches (progress_watch_set(), progress_watch_remove()). Progress thread only. */
#ifndef SOFTDEV_WATCHES_H
#define SOFTDEV_WATCHES_H

#include "process/progress.h"

/* Called before all others, by the thread that starts the progress thread. 0 or -errno. */
int watches_open(void);
void watches_close(void);

/*
 * Waits for events, for ever if the timeout is -1; returns false if there are none. watches_dispatch() hands them to the
 * callbacks.
 */
bool watches_wait(int timeout_ms);
void watches_dispatch(void);

/* For pthread_atfork. The child closes every descriptor that is watched. */
void watches_before_fork(void);
void watches_after_fork_in_parent(void);
void watches_after_fork_in_child(void);

#endif

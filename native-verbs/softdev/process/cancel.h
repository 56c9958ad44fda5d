/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that the program cancels (pthread_cancel) would end in any system call or wait of the device, while it holds
 * locks. These functions defer cancellation, so that such a thread ends only in the wait for an event (event_queue.h).
 */
#ifndef SOFTDEV_CANCEL_H
#define SOFTDEV_CANCEL_H

#include <pthread.h>

/* Defers cancellation; returns the argument for cancel_restore(). Calls may nest. */
static inline int cancel_put_off(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif

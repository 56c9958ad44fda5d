/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that the program cancels (pthread_cancel) would end in any system call or wait of the device, with the locks
 * that it holds there. It shall only in the wait for an event (event_queue.h): elsewhere cancellation is put off.
 */
#ifndef SOFTDEV_CANCEL_H
#define SOFTDEV_CANCEL_H

#include <pthread.h>

/* Returns what cancel_restore() takes. Calls may nest. */
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

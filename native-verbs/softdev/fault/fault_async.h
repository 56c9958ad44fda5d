/* SPDX-License-Identifier: Apache-2.0 */
/* Raises asynchronous events on request, and puts queue pairs into the error state as a device does. */
#ifndef SOFTDEV_FAULT_ASYNC_H
#define SOFTDEV_FAULT_ASYNC_H

#include <stdint.h>

/*
 * Raises an ibv_event_type on the queue pair (0 = every one of this process), on its queues, or on every open context,
 * depending on the type. Any thread, any lock held; the progress thread raises it.
 */
void fault_raise_soon(int event, uint32_t qpn);
/* Raises it at once; returns the number of objects that it was raised on. Progress thread. */
unsigned int fault_raise(int event, uint32_t qpn);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of events with a descriptor that poll() sees readable while there is one: completion
 * channels, async events, CM event channels. An eventfd token is written and read only under the lock,
 * together with the list, so that the two always agree and a read never blocks.
 */
#ifndef SOFTDEV_EVENT_QUEUE_H
#define SOFTDEV_EVENT_QUEUE_H

#include "process/list.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* One source of events, embedded in its owner, zero-initialised; `pending` of them are queued. */
struct event_node {
	struct list place;
	unsigned int pending;
};

struct event_queue {
	struct engine *engine; /* that made it */
	pthread_mutex_t lock;
	int fd;
	unsigned int waiters; /* threads inside event_queue_pop() */
	sem_t wake;	      /* posted for each event that comes while threads wait; an extra post does no harm */
	struct list nodes;
};

/* Makes a queue. 0 or -errno. */
int event_queue_init(struct event_queue *queue);
/*
 * Destroys the queue. False if a thread still waits in event_queue_pop(): as with the kernel's channels it waits for ever,
 * so the queue, its descriptor and the memory around them must stay.
 */
bool event_queue_destroy(struct event_queue *queue);

/* Adds one event of this node. */
void event_queue_push(struct event_queue *queue, struct event_node *node);
/* Takes all events of the node off; returns how many there were. */
unsigned int event_queue_remove(struct event_queue *queue, struct event_node *node);
/*
 * Waits for an event unless the descriptor is O_NONBLOCK (then NULL, errno EAGAIN). NULL and EINTR after a
 * signal, unless its handler has SA_RESTART; EIO if it is inherited from a parent process. The wait is a cancellation point.
 */
struct event_node *event_queue_pop(struct event_queue *queue);

#endif

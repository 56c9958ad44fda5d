/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of events with a descriptor that is readable while there is an event. Completion channels, the asynchronous
 * events of a context and the event channels of rdma_cm are such queues. The tokens of the eventfd are written and read
 * only under the lock, together with the list, so that both always agree and a read never blocks.
 */
#ifndef SOFTDEV_EVENT_QUEUE_H
#define SOFTDEV_EVENT_QUEUE_H

#include "process/list.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

/* A source of events, embedded in its owner, begins as zeros. `pending` of its events are queued. */
struct event_node {
	struct list place;
	unsigned int pending;
};

struct event_queue {
	struct engine *engine; /* the one that created the queue */
	pthread_mutex_t lock;
	int fd;
	unsigned int waiters; /* threads inside event_queue_pop() */
	sem_t wake;	      /* posted for each event that arrives while threads wait; an extra post does no harm */
	struct list nodes;
};

/* Initialises a queue. 0 or -errno. */
int event_queue_init(struct event_queue *queue);
/*
 * Destroys the queue. Returns false if a thread still waits in event_queue_pop(). As with the kernel's channels, that
 * thread waits for ever, so the queue, its descriptor and the memory around it must stay.
 */
bool event_queue_destroy(struct event_queue *queue);

/* Adds one event of this node. */
void event_queue_push(struct event_queue *queue, struct event_node *node);
/* Removes all events of the node and returns how many there were. */
unsigned int event_queue_remove(struct event_queue *queue, struct event_node *node);
/*
 * Waits for an event and takes it off the queue. Returns NULL with errno EAGAIN if there is none and the descriptor is
 * O_NONBLOCK, EINTR after a signal whose handler lacks SA_RESTART, or EIO if the queue belongs to a parent process. The
 * wait is a cancellation point.
 */
struct event_node *event_queue_pop(struct event_queue *queue);

#endif

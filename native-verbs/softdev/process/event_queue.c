/* SPDX-License-Identifier: Apache-2.0 */
#include "process/event_queue.h"

#include "core.h"
#include "engine.h"
#include "process/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

int event_queue_init(struct event_queue *queue)
{
	queue->fd = eventfd(0, EFD_SEMAPHORE | EFD_CLOEXEC);
	if (queue->fd < 0)
		return -errno;
	queue->engine = engine;
	pthread_mutex_init(&queue->lock, NULL);
	sem_init(&queue->wake, 0, 0);
	queue->nodes = (struct list){0};
	return 0;
}

bool event_queue_destroy(struct event_queue *queue)
{
	bool unused;

	pthread_mutex_lock(&queue->lock);
	unused = !queue->waiters;
	pthread_mutex_unlock(&queue->lock);
	if (!unused)
		return false;
	close(queue->fd);
	sem_destroy(&queue->wake);
	pthread_mutex_destroy(&queue->lock);
	return true;
}

/*
 * queue->lock held, and as many tokens in the eventfd as there are events. The child of a fork leaves them
 * alone: they are its parent's.
 */
static void take_token(struct event_queue *queue)
{
	uint64_t token;
	int cancel;

	if (queue->engine != engine)
		return;
	cancel = cancel_put_off();
	while (read(queue->fd, &token, sizeof(token)) < 0 && errno == EINTR)
		;
	cancel_restore(cancel);
}

void event_queue_push(struct event_queue *queue, struct event_node *node)
{
	int cancel = cancel_put_off();
	uint64_t token = 1;

	pthread_mutex_lock(&queue->lock);
	if (node->pending++ == 0)
		list_add(&queue->nodes, &node->place);
	while (write(queue->fd, &token, sizeof(token)) < 0 && errno == EINTR)
		;
	if (queue->waiters)
		sem_post(&queue->wake);
	pthread_mutex_unlock(&queue->lock);
	cancel_restore(cancel);
}

unsigned int event_queue_remove(struct event_queue *queue, struct event_node *node)
{
	unsigned int removed;

	pthread_mutex_lock(&queue->lock);
	removed = node->pending;
	list_remove(&node->place);
	for (; node->pending; node->pending--)
		take_token(queue);
	pthread_mutex_unlock(&queue->lock);
	return removed;
}

/* The node of the oldest event, one event taken off; NULL if there is none. queue->lock held. */
static struct event_node *pop_locked(struct event_queue *queue)
{
	struct event_node *node = LIST_FIRST(&queue->nodes, struct event_node, place);

	if (!node)
		return NULL;
	list_remove(&node->place);
	if (--node->pending)
		list_add(&queue->nodes, &node->place);
	take_token(queue);
	return node;
}

/* Without an event the wakes of those that have been taken are over; the next wait would return for each of them. */
static struct event_node *pop_or_forget_wakes(struct event_queue *queue)
{
	struct event_node *node;

	pthread_mutex_lock(&queue->lock);
	node = pop_locked(queue);
	while (!node && !sem_trywait(&queue->wake))
		;
	pthread_mutex_unlock(&queue->lock);
	return node;
}

/* Not poll(): only a semaphore goes on waiting after a signal whose handler has SA_RESTART, as the kernel's channels do. */
static struct event_node *wait_and_pop(struct event_queue *queue)
{
	for (;;) {
		struct event_node *node = pop_or_forget_wakes(queue);

		if (node)
			return node;
		if (fcntl(queue->fd, F_GETFL) & O_NONBLOCK) {
			errno = EAGAIN;
			return NULL;
		}
		if (sem_wait(&queue->wake))
			return NULL;
	}
}

static void stop_waiting(void *owner)
{
	struct event_queue *queue = owner;
	int error = errno;

	pthread_mutex_lock(&queue->lock);
	queue->waiters--;
	pthread_mutex_unlock(&queue->lock);
	errno = error;
}

/* The last wake may have been for the one that was cancelled before it could take the event: another shall look. */
static void stop_waiting_cancelled(void *owner)
{
	struct event_queue *queue = owner;

	sem_post(&queue->wake); /* first: without its waiters the queue may go */
	stop_waiting(queue);
}

struct event_node *event_queue_pop(struct event_queue *queue)
{
	struct event_node *node;

	if (queue->engine != engine) {
		errno = EIO;
		return NULL;
	}
	pthread_testcancel(); /* of a thread that always finds an event, too */
	pthread_mutex_lock(&queue->lock);
	queue->waiters++;
	pthread_mutex_unlock(&queue->lock);
	pthread_cleanup_push(stop_waiting_cancelled, queue); /* programs cancel the threads that wait */
	node = wait_and_pop(queue);
	pthread_cleanup_pop(0);
	stop_waiting(queue);
	return node;
}

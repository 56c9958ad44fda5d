/* SPDX-License-Identifier: Apache-2.0 */
#include "process/event_queue.h"

#include "core.h"
#include "engine.h"
#include "lock.h"
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
	return true;
}

/*
 * Called with queue->lock held, while the eventfd has as many tokens as there are events. The child of a fork takes
 * none, because they belong to its parent.
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

	HOLD_LOCK(&queue->lock);
	removed = node->pending;
	list_remove(&node->place);
	for (; node->pending; node->pending--)
		take_token(queue);
	return removed;
}

/* Takes the oldest event off the queue and returns its node, or NULL if there is none. Called with queue->lock held. */
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

/*
 * If there is no event, the wakes that are left belong to events that have been taken. They are discarded, because the
 * next wait would return once for each of them.
 */
static struct event_node *pop_or_forget_wakes(struct event_queue *queue)
{
	struct event_node *node;

	HOLD_LOCK(&queue->lock);
	node = pop_locked(queue);
	while (!node && !sem_trywait(&queue->wake))
		;
	return node;
}

/*
 * Waits on a semaphore rather than in poll(), because only a semaphore continues to wait after a signal whose handler
 * has SA_RESTART, as the kernel's channels do.
 */
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

/* The last wake may have been meant for the cancelled thread, which has not taken the event, so another thread is woken. */
static void stop_waiting_cancelled(void *owner)
{
	struct event_queue *queue = owner;

	sem_post(&queue->wake); /* comes first, because a queue without waiters may be destroyed */
	stop_waiting(queue);
}

struct event_node *event_queue_pop(struct event_queue *queue)
{
	struct event_node *node;

	if (queue->engine != engine) {
		errno = EIO;
		return NULL;
	}
	pthread_testcancel(); /* ends a thread that always finds an event, too */
	pthread_mutex_lock(&queue->lock);
	queue->waiters++;
	pthread_mutex_unlock(&queue->lock);
	pthread_cleanup_push(stop_waiting_cancelled, queue); /* programs cancel threads that wait */
	node = wait_and_pop(queue);
	pthread_cleanup_pop(0);
	stop_waiting(queue);
	return node;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/watches.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf; guards the list, for forks */
static struct progress_watch *watches;
static int epoll_fd = -1;
static struct epoll_event batch[EVENTS_PER_WAIT];
static int batch_next, batch_count;

int watches_open(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

void watches_close(void)
{
	close(epoll_fd);
	epoll_fd = -1;
}

int progress_watch_set(struct progress_watch *watch, uint32_t epoll_events)
{
	struct epoll_event event = {.events = epoll_events, .data.ptr = watch};

	if (epoll_ctl(epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	if (watch->added)
		return 0;
	watch->added = true;
	pthread_mutex_lock(&lock);
	watch->previous = NULL;
	watch->next = watches;
	if (watch->next)
		watch->next->previous = watch;
	watches = watch;
	pthread_mutex_unlock(&lock);
	return 0;
}

void progress_watch_remove(struct progress_watch *watch)
{
	if (!watch->added)
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->added = false;
	pthread_mutex_lock(&lock);
	if (watch->previous)
		watch->previous->next = watch->next;
	else
		watches = watch->next;
	if (watch->next)
		watch->next->previous = watch->previous;
	pthread_mutex_unlock(&lock);
	for (int i = batch_next; i < batch_count; i++)
		if (batch[i].data.ptr == watch)
			batch[i].data.ptr = NULL;
}

bool watches_wait(int timeout_ms)
{
	batch_next = 0;
	batch_count = epoll_wait(epoll_fd, batch, EVENTS_PER_WAIT, timeout_ms);
	return batch_count > 0;
}

void watches_dispatch(void)
{
	while (batch_next < batch_count) {
		struct epoll_event *event = &batch[batch_next++];
		struct progress_watch *watch = event->data.ptr;

		if (watch)
			watch->callback(watch->owner, event->events);
	}
}

void watches_before_fork(void)
{
	pthread_mutex_lock(&lock);
}

void watches_after_fork_in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

void watches_after_fork_in_child(void)
{
	for (struct progress_watch *watch = watches; watch; watch = watch->next)
		close(watch->fd);
	watches = NULL;
	if (epoll_fd >= 0)
		watches_close();
	pthread_mutex_unlock(&lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/watches.h"

#include "engine.h"
#include "lock.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 64 };

struct watches_state {
	pthread_mutex_t lock; /* a leaf; guards the list, which a fork reads */
	struct list watches;
	int epoll_fd;
	struct epoll_event batch[EVENTS_PER_WAIT];
	int batch_next, batch_count;
};

static bool init_part(void *part)
{
	((struct watches_state *)part)->epoll_fd = -1;
	return true;
}

ENGINE_PART(watches, init_part);

int watches_open(void)
{
	engine->watches->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return engine->watches->epoll_fd < 0 ? -errno : 0;
}

void watches_close(void)
{
	close(engine->watches->epoll_fd);
	engine->watches->epoll_fd = -1;
}

int progress_watch_set(struct progress_watch *watch, uint32_t epoll_events)
{
	struct epoll_event event = {.events = epoll_events, .data.ptr = watch};

	if (epoll_ctl(engine->watches->epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	watch->added = true;
	progress_watch_own(watch);
	return 0;
}

void progress_watch_own(struct progress_watch *watch)
{
	if (list_has(&watch->owned))
		return;
	HOLD_LOCK(&engine->watches->lock);
	list_add(&engine->watches->watches, &watch->owned);
}

void progress_watch_remove(struct progress_watch *watch)
{
	if (!list_has(&watch->owned))
		return;
	if (watch->added)
		epoll_ctl(engine->watches->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	pthread_mutex_lock(&engine->watches->lock);
	watch->added = false;
	list_remove(&watch->owned);
	pthread_mutex_unlock(&engine->watches->lock);
	for (int i = engine->watches->batch_next; i < engine->watches->batch_count; i++)
		if (engine->watches->batch[i].data.ptr == watch)
			engine->watches->batch[i].data.ptr = NULL;
}

bool watches_wait(int timeout_ms)
{
	engine->watches->batch_next = 0;
	engine->watches->batch_count = epoll_wait(engine->watches->epoll_fd, engine->watches->batch, EVENTS_PER_WAIT, timeout_ms);
	return engine->watches->batch_count > 0;
}

void watches_dispatch(void)
{
	while (engine->watches->batch_next < engine->watches->batch_count) {
		struct epoll_event *event = &engine->watches->batch[engine->watches->batch_next++];
		struct progress_watch *watch = event->data.ptr;

		if (watch && watch->callback)
			watch->callback(watch->owner, event->events);
	}
}

void watches_before_fork(void)
{
	pthread_mutex_lock(&engine->watches->lock);
}

void watches_after_fork_in_parent(void)
{
	pthread_mutex_unlock(&engine->watches->lock);
}

void watches_after_fork_in_child(void)
{
	LIST_EACH(at, &engine->watches->watches)
		close(container_of_(at, struct progress_watch, owned)->fd);
	if (engine->watches->epoll_fd >= 0)
		watches_close();
}

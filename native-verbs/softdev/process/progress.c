/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "progress.h"

#include "cancel.h"
#include "core.h"
#include "log.h"
#include "peer_table.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 64 };

static struct {
	pthread_mutex_t lock; /* guards everything but the timers and the batch */
	bool running;
	int epoll_fd;
	int wake_fd;
	bool sleeping; /* or about to: only then a post has to wake it */
	bool wake_pending;
	struct progress_task *first_task, **last_task;
	unsigned int queued; /* tasks */
	struct progress_watch *watches;
	struct progress_timer timers; /* progress thread only, as the batch */
	struct epoll_event batch[EVENTS_PER_WAIT];
	int batch_next, batch_count;
} progress = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.epoll_fd = -1,
	.wake_fd = -1,
	.last_task = &progress.first_task,
	.timers = {.previous = &progress.timers, .next = &progress.timers},
};

static _Thread_local bool is_progress_thread;

uint64_t progress_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

bool progress_on_thread(void)
{
	return is_progress_thread;
}

int progress_watch_set(struct progress_watch *watch, uint32_t epoll_events)
{
	struct epoll_event event = {.events = epoll_events, .data.ptr = watch};

	if (epoll_ctl(progress.epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	if (watch->added)
		return 0;
	watch->added = true;
	pthread_mutex_lock(&progress.lock);
	watch->previous = NULL;
	watch->next = progress.watches;
	if (watch->next)
		watch->next->previous = watch;
	progress.watches = watch;
	pthread_mutex_unlock(&progress.lock);
	return 0;
}

void progress_watch_remove(struct progress_watch *watch)
{
	if (!watch->added)
		return;
	epoll_ctl(progress.epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->added = false;
	pthread_mutex_lock(&progress.lock);
	if (watch->previous)
		watch->previous->next = watch->next;
	else
		progress.watches = watch->next;
	if (watch->next)
		watch->next->previous = watch->previous;
	pthread_mutex_unlock(&progress.lock);
	for (int i = progress.batch_next; i < progress.batch_count; i++)
		if (progress.batch[i].data.ptr == watch)
			progress.batch[i].data.ptr = NULL;
}

void progress_before_fork(void)
{
	pthread_mutex_lock(&progress.lock);
}

void progress_after_fork_in_parent(void)
{
	pthread_mutex_unlock(&progress.lock);
}

void progress_after_fork_in_child(void)
{
	for (struct progress_watch *watch = progress.watches; watch; watch = watch->next)
		close(watch->fd);
	if (progress.epoll_fd >= 0)
		close(progress.epoll_fd);
	progress.watches = NULL;
	progress.epoll_fd = -1;
	pthread_mutex_unlock(&progress.lock);
}

void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns)
{
	struct progress_timer *after;

	progress_timer_cancel(timer);
	timer->deadline_ns = deadline_ns;
	after = progress.timers.previous;
	while (after != &progress.timers && after->deadline_ns > deadline_ns)
		after = after->previous;
	timer->previous = after;
	timer->next = after->next;
	after->next->previous = timer;
	after->next = timer;
	timer->armed = true;
}

void progress_timer_cancel(struct progress_timer *timer)
{
	if (!timer->armed)
		return;
	timer->previous->next = timer->next;
	timer->next->previous = timer->previous;
	timer->armed = false;
}

/* progress.lock held. */
static void wake_up(void)
{
	uint64_t one = 1;
	int cancel;

	if (progress.wake_pending || !progress.sleeping)
		return;
	progress.wake_pending = true;
	cancel = cancel_put_off();
	while (write(progress.wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	cancel_restore(cancel);
}

void progress_post(struct progress_task *task)
{
	pthread_mutex_lock(&progress.lock);
	if (!task->queued) {
		task->queued = true;
		task->next = NULL;
		*progress.last_task = task;
		progress.last_task = &task->next;
		progress.queued++;
		if (progress.running)
			wake_up();
	}
	pthread_mutex_unlock(&progress.lock);
}

void progress_cancel(struct progress_task *task)
{
	pthread_mutex_lock(&progress.lock);
	if (task->queued) {
		struct progress_task **link = &progress.first_task;

		while (*link != task)
			link = &(*link)->next;
		*link = task->next;
		if (progress.last_task == &task->next)
			progress.last_task = link;
		task->queued = false;
		progress.queued--;
	}
	pthread_mutex_unlock(&progress.lock);
}

static struct progress_task *take_task(void)
{
	struct progress_task *task;

	pthread_mutex_lock(&progress.lock);
	task = progress.first_task;
	if (task) {
		progress.first_task = task->next;
		if (!progress.first_task)
			progress.last_task = &progress.first_task;
		task->queued = false;
		progress.queued--;
	}
	pthread_mutex_unlock(&progress.lock);
	return task;
}

/* Runs what is queued now; what that queues in turn waits until the sockets had their turn. */
static void run_tasks(void)
{
	struct progress_task *task;
	unsigned int count;

	pthread_mutex_lock(&progress.lock);
	count = progress.queued;
	pthread_mutex_unlock(&progress.lock);
	for (; count && (task = take_task()); count--)
		task->callback(task->owner);
}

/* Runs the timers that are due; returns how many milliseconds to wait for the next, -1 = none. */
static int run_timers(void)
{
	while (progress.timers.next != &progress.timers) {
		struct progress_timer *timer = progress.timers.next;
		uint64_t now = progress_now_ns();

		if (timer->deadline_ns > now)
			return (timer->deadline_ns - now + 999999) / 1000000;
		progress_timer_cancel(timer);
		timer->callback(timer->owner);
	}
	return -1;
}

/* False if there are tasks to run instead. */
static bool may_sleep(void)
{
	bool may;

	pthread_mutex_lock(&progress.lock);
	may = progress.sleeping = !progress.first_task;
	pthread_mutex_unlock(&progress.lock);
	return may;
}

static void stay_awake(void)
{
	pthread_mutex_lock(&progress.lock);
	progress.sleeping = false;
	pthread_mutex_unlock(&progress.lock);
}

static void clear_wake(void)
{
	uint64_t count;

	pthread_mutex_lock(&progress.lock);
	while (read(progress.wake_fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	progress.wake_pending = false;
	pthread_mutex_unlock(&progress.lock);
}

static void dispatch_batch(void)
{
	for (progress.batch_next = 0; progress.batch_next < progress.batch_count;) {
		struct epoll_event *event = &progress.batch[progress.batch_next++];
		struct progress_watch *watch = event->data.ptr;

		if (watch)
			watch->callback(watch->owner, event->events);
	}
	progress.batch_count = 0;
}

static void wake_callback(void *owner, uint32_t events)
{
	(void)owner;
	(void)events;
	clear_wake();
}

static void *progress_main(void *unused)
{
	static struct progress_watch wake = {.callback = wake_callback};

	(void)unused;
	is_progress_thread = true;
	peer_table_hold_liveness();
	wake.fd = progress.wake_fd;
	progress_watch_set(&wake, EPOLLIN);
	for (;;) {
		int timeout_ms;

		run_tasks();
		timeout_ms = run_timers();
		if (!may_sleep())
			timeout_ms = 0;
		progress.batch_count =
			epoll_wait(progress.epoll_fd, progress.batch, EVENTS_PER_WAIT, timeout_ms);
		stay_awake();
		dispatch_batch();
	}
	return NULL;
}

/* progress.lock held. */
static int start_locked(void)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	progress.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	progress.wake_fd = eventfd(0, EFD_CLOEXEC);
	if (progress.epoll_fd < 0 || progress.wake_fd < 0) {
		error = errno;
		goto close_fds;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, progress_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		goto close_fds;
	pthread_detach(thread);
	pthread_setname_np(thread, "softverbs");
	progress.running = true;
	return 0;

close_fds:
	if (progress.epoll_fd >= 0)
		close(progress.epoll_fd);
	if (progress.wake_fd >= 0)
		close(progress.wake_fd);
	progress.epoll_fd = progress.wake_fd = -1;
	log_error("cannot start the progress thread: %s", strerror(error));
	return -error;
}

int progress_start(void)
{
	int result = 0;

	process_nonce();
	if (process_is_forked_child())
		return -EIO;
	pthread_mutex_lock(&progress.lock);
	if (!progress.running)
		result = start_locked();
	pthread_mutex_unlock(&progress.lock);
	return result;
}

struct call {
	struct progress_task task;
	void (*callback)(void *owner);
	void *owner;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
};

static void run_call(void *owner)
{
	struct call *call = owner;

	call->callback(call->owner);
	pthread_mutex_lock(&call->lock);
	call->done = true;
	pthread_cond_signal(&call->cond);
	pthread_mutex_unlock(&call->lock);
}

int progress_call(void (*callback)(void *owner), void *owner)
{
	struct call call = {
		.task = {.callback = run_call, .owner = &call},
		.callback = callback,
		.owner = owner,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.cond = PTHREAD_COND_INITIALIZER,
	};
	int result = progress_start(), cancel;

	if (result)
		return result;
	if (progress_on_thread()) {
		callback(owner);
		return 0;
	}
	cancel = cancel_put_off(); /* the progress thread writes to this stack */
	progress_post(&call.task);
	pthread_mutex_lock(&call.lock);
	while (!call.done)
		pthread_cond_wait(&call.cond, &call.lock);
	pthread_mutex_unlock(&call.lock);
	pthread_mutex_destroy(&call.lock);
	pthread_cond_destroy(&call.cond);
	cancel_restore(cancel);
	return 0;
}

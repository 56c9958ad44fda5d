/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/progress.h"

#include "core.h"
#include "engine.h"
#include "lock.h"
#include "process/agenda.h"
#include "process/cancel.h"
#include "process/log.h"
#include "process/watches.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

struct progress_state {
	pthread_mutex_t lock; /* guards this struct and the tasks of the agenda */
	bool running;
	struct progress_watch wake;
	bool sleeping; /* the thread sleeps or is about to; only then must a post wake it */
	bool wake_pending;
	sem_t fork_gate; /* taken before all locks, by the progress thread while it is awake or by a fork */
	atomic_int forks_waiting;
};

static bool init_part(void *part)
{
	return !sem_init(&((struct progress_state *)part)->fork_gate, 0, 1);
}

ENGINE_PART(progress, init_part);

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

static void wait_for(sem_t *semaphore)
{
	int cancel = cancel_put_off();

	while (sem_wait(semaphore) && errno == EINTR)
		;
	cancel_restore(cancel);
}

static void close_gate(void)
{
	wait_for(&engine->progress->fork_gate);
}

static void open_gate(void)
{
	sem_post(&engine->progress->fork_gate);
}

void progress_hold_forks(void)
{
	if (!is_progress_thread)
		close_gate();
}

void progress_let_forks(void)
{
	if (!is_progress_thread)
		open_gate();
}

void progress_before_fork(void)
{
	if (!engine)
		return;
	atomic_fetch_add(&engine->progress->forks_waiting, 1);
	progress_hold_forks();
	atomic_fetch_sub(&engine->progress->forks_waiting, 1);
	pthread_mutex_lock(&engine->progress->lock);
	watches_before_fork();
}

void progress_after_fork_in_parent(void)
{
	if (!engine)
		return;
	watches_after_fork_in_parent();
	pthread_mutex_unlock(&engine->progress->lock);
	progress_let_forks();
}

void progress_after_fork_in_child(void)
{
	if (!engine)
		return;
	watches_after_fork_in_child();
	is_progress_thread = false;
}

/* Called with progress.lock held. */
static void wake_up(void)
{
	uint64_t one = 1;
	int cancel;

	if (engine->progress->wake_pending || !engine->progress->sleeping)
		return;
	engine->progress->wake_pending = true;
	cancel = cancel_put_off();
	while (write(engine->progress->wake.fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	cancel_restore(cancel);
}

void progress_post(struct progress_task *task)
{
	HOLD_LOCK(&engine->progress->lock);
	if (agenda_add(task) && engine->progress->running)
		wake_up();
}

void progress_cancel(struct progress_task *task)
{
	HOLD_LOCK(&engine->progress->lock);
	agenda_remove(task);
}

static struct progress_task *take_task(void)
{
	HOLD_LOCK(&engine->progress->lock);
	return agenda_take();
}

/* Runs the tasks that are queued now. The tasks that these queue wait until the sockets have had their turn. */
static void run_tasks(void)
{
	struct progress_task *task;
	unsigned int count;

	pthread_mutex_lock(&engine->progress->lock);
	count = agenda_tasks();
	pthread_mutex_unlock(&engine->progress->lock);
	for (; count && (task = take_task()); count--)
		task->callback(task->owner);
}

/* Runs the timers that are due. Returns the milliseconds until the next one, or -1 if none is set. */
static int run_timers(void)
{
	uint64_t now;

	do
		now = progress_now_ns();
	while (agenda_run_timer(now));
	return agenda_due_ns() == UINT64_MAX ? -1 : (int)((agenda_due_ns() - now + 999999) / 1000000);
}

/* Returns false if there are tasks to run instead. */
static bool may_sleep(void)
{
	HOLD_LOCK(&engine->progress->lock);
	return engine->progress->sleeping = !agenda_tasks();
}

static void stay_awake(void)
{
	HOLD_LOCK(&engine->progress->lock);
	engine->progress->sleeping = false;
}

static void wake_callback(void *owner, uint32_t events)
{
	uint64_t count;

	(void)owner;
	(void)events;
	HOLD_LOCK(&engine->progress->lock);
	while (read(engine->progress->wake.fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
	engine->progress->wake_pending = false;
}

static void *progress_main(void *unused)
{
	(void)unused;
	is_progress_thread = true;
	close_gate();
	for (;;) {
		int timeout_ms;

		run_tasks();
		timeout_ms = run_timers();
		if (!may_sleep())
			timeout_ms = 0;
		open_gate();
		watches_wait(timeout_ms);
		while (atomic_load(&engine->progress->forks_waiting)) /* a semaphore is not fair, so forks go first */
			sched_yield();
		close_gate();
		stay_awake();
		watches_dispatch();
	}
	return NULL;
}

/* progress.lock held. */
static int start_locked(void)
{
	struct progress_watch *wake = &engine->progress->wake;
	sigset_t all, before;
	pthread_t thread;
	int error = watches_open();

	if (error)
		goto failed;
	*wake = (struct progress_watch){.fd = eventfd(0, EFD_CLOEXEC), .callback = wake_callback};
	error = wake->fd < 0 ? -errno : progress_watch_set(wake, EPOLLIN);
	if (error)
		goto close_fds;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = -pthread_create(&thread, NULL, progress_main, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		goto close_fds;
	pthread_detach(thread);
	pthread_setname_np(thread, "softverbs");
	engine->progress->running = true;
	return 0;

close_fds:
	progress_watch_remove(wake);
	if (wake->fd >= 0)
		close(wake->fd);
	watches_close();
failed:
	log_error("cannot start the progress thread: %s", strerror(-error));
	return error;
}

int progress_start(void)
{
	HOLD_LOCK(&engine->progress->lock);
	return engine->progress->running ? 0 : start_locked();
}

struct call {
	struct progress_task task;
	void (*callback)(void *owner);
	void *owner;
	sem_t done;
};

static void run_call(void *owner)
{
	struct call *call = owner;

	call->callback(call->owner);
	sem_post(&call->done);
}

int progress_call(void (*callback)(void *owner), void *owner)
{
	struct call call = {.task = {.callback = run_call, .owner = &call}, .callback = callback, .owner = owner};
	int result = progress_start(), cancel;

	if (result)
		return result;
	if (progress_on_thread()) {
		callback(owner);
		return 0;
	}
	cancel = cancel_put_off(); /* the progress thread writes to this stack */
	sem_init(&call.done, 0, 0);
	progress_post(&call.task);
	wait_for(&call.done);
	sem_destroy(&call.done);
	cancel_restore(cancel);
	return 0;
}

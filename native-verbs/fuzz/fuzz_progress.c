/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread of a fuzzing process: progress.h on the only thread there is, with a clock that moves only when
 * the target says so. Everything an input causes has happened when fuzz_settle() returns.
 */
#include "harness.h"

#include "core.h"
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_PER_WAIT = 64, MAX_TURNS = 2000 };

static int epoll_fd = -1;
static uint64_t now_ns = 1000000000ull;
static struct progress_watch *watches; /* what is watched is not leaked */
static struct progress_task *first_task, **last_task = &first_task;
static struct progress_timer timers = {.previous = &timers, .next = &timers};
static struct epoll_event batch[EVENTS_PER_WAIT];
static int batch_next, batch_count;

int progress_start(void)
{
	process_nonce();
	if (epoll_fd < 0)
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	return epoll_fd < 0 ? -errno : 0;
}

bool progress_on_thread(void)
{
	return true;
}

uint64_t progress_now_ns(void)
{
	return now_ns;
}

int progress_watch_set(struct progress_watch *watch, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = watch};

	if (epoll_ctl(epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event))
		return -errno;
	if (watch->added)
		return 0;
	watch->added = true;
	watch->previous = NULL;
	watch->next = watches;
	if (watches)
		watches->previous = watch;
	watches = watch;
	return 0;
}

void progress_watch_remove(struct progress_watch *watch)
{
	if (!watch->added)
		return;
	epoll_ctl(epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	watch->added = false;
	if (watch->previous)
		watch->previous->next = watch->next;
	else
		watches = watch->next;
	if (watch->next)
		watch->next->previous = watch->previous;
	for (int i = batch_next; i < batch_count; i++)
		if (batch[i].data.ptr == watch)
			batch[i].data.ptr = NULL;
}

void progress_before_fork(void)
{
}

void progress_after_fork_in_parent(void)
{
}

void progress_after_fork_in_child(void)
{
}

void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns)
{
	struct progress_timer *after;

	progress_timer_cancel(timer);
	timer->deadline_ns = deadline_ns;
	after = timers.previous;
	while (after != &timers && after->deadline_ns > deadline_ns)
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

void progress_post(struct progress_task *task)
{
	if (task->queued)
		return;
	task->queued = true;
	task->next = NULL;
	*last_task = task;
	last_task = &task->next;
}

void progress_cancel(struct progress_task *task)
{
	struct progress_task **place = &first_task;

	if (!task->queued)
		return;
	while (*place != task)
		place = &(*place)->next;
	*place = task->next;
	if (last_task == &task->next)
		last_task = place;
	task->queued = false;
}

int progress_call(void (*callback)(void *owner), void *owner)
{
	int error = progress_start();

	if (!error)
		callback(owner);
	return error;
}

static bool run_task(void)
{
	struct progress_task *task = first_task;

	if (!task)
		return false;
	first_task = task->next;
	if (!first_task)
		last_task = &first_task;
	task->queued = false;
	task->callback(task->owner);
	return true;
}

static bool run_timer(void)
{
	struct progress_timer *timer = timers.next;

	if (timer == &timers || timer->deadline_ns > now_ns)
		return false;
	progress_timer_cancel(timer);
	timer->callback(timer->owner);
	return true;
}

static bool run_sockets(void)
{
	batch_count = epoll_wait(epoll_fd, batch, EVENTS_PER_WAIT, 0);
	if (batch_count <= 0)
		return false;
	for (batch_next = 0; batch_next < batch_count;) {
		struct epoll_event *event = &batch[batch_next++];
		struct progress_watch *watch = event->data.ptr;

		if (watch)
			watch->callback(watch->owner, event->events);
	}
	batch_count = 0;
	return true;
}

void fuzz_settle(void)
{
	for (int turn = 0; turn < MAX_TURNS; turn++) {
		bool busy = run_task();

		busy |= run_timer();
		busy |= run_sockets();
		if (!busy)
			return;
	}
	fprintf(stderr, "the progress thread never comes to rest\n");
	abort();
}

void fuzz_pass_time(uint64_t ns)
{
	now_ns += ns;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process has one progress thread. It is started on first use and owns every socket of the device. Callbacks run on
 * it, one at a time, with no lock held, and must not block.
 */
#ifndef SOFTDEV_PROGRESS_H
#define SOFTDEV_PROGRESS_H

#include "process/list.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts the thread if it does not run. 0 or -errno. Any thread. */
int progress_start(void);

bool progress_on_thread(void);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t progress_now_ns(void);

/* A watched descriptor. Initialise `fd`, `callback` (may be NULL) and `owner`. Only the progress thread may use it. */
struct progress_watch {
	int fd;
	void (*callback)(void *owner, uint32_t epoll_events);
	void *owner;
	struct list owned; /* in the list of descriptors that the child of a fork closes */
	bool added;
};

/*
 * No fork happens while the progress thread runs tasks, timers and callbacks, nor between these two calls on another
 * thread. Between them a thread creates a socket that the child of a fork must not keep, and hands it to
 * progress_watch_own(); from then on the child closes it. progress_watch_set() does so, too. The caller holds no lock
 * that the progress thread takes.
 */
void progress_hold_forks(void);
void progress_let_forks(void);
void progress_watch_own(struct progress_watch *watch);

/* `epoll_events` as for epoll_ctl, level triggered without EPOLLET. 0 or -errno. Progress thread only. */
int progress_watch_set(struct progress_watch *watch, uint32_t epoll_events);
/* No callback follows after it has returned. The descriptor stays open. Progress thread only. */
void progress_watch_remove(struct progress_watch *watch);

/* For pthread_atfork. The child has no progress thread, so it closes every watched descriptor. */
void progress_before_fork(void);
void progress_after_fork_in_parent(void);
void progress_after_fork_in_child(void);

/* A one-shot timer, embedded in its owner. It begins as zeros except for callback and owner. */
struct progress_timer {
	void (*callback)(void *owner);
	void *owner;
	uint64_t deadline_ns;
	struct list armed; /* in the list of timers that are set */
};

/* Sets or moves the timer. Progress thread only. */
void progress_timer_set(struct progress_timer *timer, uint64_t deadline_ns);
void progress_timer_cancel(struct progress_timer *timer);
static inline bool progress_timer_is_set(const struct progress_timer *timer)
{
	return list_has(&timer->armed);
}

/* Work for the progress thread, embedded in its owner. It begins as zeros except for callback and owner. */
struct progress_task {
	void (*callback)(void *owner);
	void *owner;
	struct list queued;
};

/* Runs the task soon; a task that is queued already is not queued twice. Any thread, any lock held. */
void progress_post(struct progress_task *task);
/* Takes the task off the queue. Progress thread only, so the task does not run afterwards. */
void progress_cancel(struct progress_task *task);

/*
 * Runs callback(owner) on the progress thread and waits until it has run. Returns 0, or -errno if there is no thread.
 * The caller holds no lock that a callback may take.
 */
int progress_call(void (*callback)(void *owner), void *owner);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/workers.h"

#include "engine.h"
#include "lock.h"
#include "process/log.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

/* When all of them wait for a disk, the work of a disk that is well waits as well. */
enum { MAX_WORKERS = 256, STACK_BYTES = 256 << 10, IDLE_SECONDS = 10 };

struct workers_state {
	pthread_mutex_t lock; /* a leaf */
	pthread_cond_t work;
	struct list tasks;
	unsigned int task_count, worker_count, idle_count;
};

ENGINE_PART(workers, NULL);

/* Called with the lock held. Returns NULL when there has been nothing to do for a while. */
static struct worker_task *take(struct workers_state *state)
{
	struct timespec limit;
	struct worker_task *task;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += IDLE_SECONDS;
	state->idle_count++;
	while (list_is_empty(&state->tasks) && !error)
		error = pthread_cond_timedwait(&state->work, &state->lock, &limit);
	state->idle_count--;
	task = LIST_FIRST(&state->tasks, struct worker_task, queued);
	if (!task)
		return NULL;
	list_remove(&task->queued);
	state->task_count--;
	return task;
}

static void *work(void *part)
{
	struct workers_state *state = part;
	struct worker_task *task;

	pthread_mutex_lock(&state->lock);
	while ((task = take(state))) {
		pthread_mutex_unlock(&state->lock);
		task->callback(task->owner);
		pthread_mutex_lock(&state->lock);
	}
	state->worker_count--;
	pthread_mutex_unlock(&state->lock);
	return NULL;
}

/* Called with the lock held. */
static void add_worker(struct workers_state *state)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int error;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, &attr, work, state);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!error)
		state->worker_count++;
	else
		log_warn("no thread can be started to wait for a disk: %s", strerror(error));
}

bool workers_run(struct worker_task *task)
{
	struct workers_state *state = engine->workers;

	HOLD_LOCK(&state->lock);
	if (state->task_count >= state->idle_count && state->worker_count < MAX_WORKERS)
		add_worker(state);
	if (!state->worker_count)
		return false;
	list_add(&state->tasks, &task->queued);
	state->task_count++;
	pthread_cond_signal(&state->work);
	return true;
}

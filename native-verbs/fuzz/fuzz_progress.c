/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The progress thread of a fuzzing process: progress.h on the only thread there is, with a clock that moves only when
 * the target says so. Everything an input causes has happened when fuzz_settle() returns.
 */
#include "harness.h"

#include "core.h"
#include "engine.h"
#include "process/agenda.h"
#include "process/watches.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_TURNS = 2000 };

struct progress_state {
	bool started;
};

ENGINE_PART(progress, NULL);

static uint64_t now_ns = 1000000000ull;

int progress_start(void)
{
	int error = 0;

	if (!engine->progress->started)
		error = watches_open();
	engine->progress->started = !error;
	return error;
}

bool progress_on_thread(void)
{
	return true;
}

uint64_t progress_now_ns(void)
{
	return now_ns;
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

void progress_post(struct progress_task *task)
{
	agenda_add(task);
}

void progress_cancel(struct progress_task *task)
{
	agenda_remove(task);
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
	struct progress_task *task = agenda_take();

	if (task)
		task->callback(task->owner);
	return task;
}

/* One thread, which never forks. */
void progress_hold_forks(void)
{
}

void progress_let_forks(void)
{
}

static bool run_sockets(void)
{
	if (!watches_wait(0))
		return false;
	watches_dispatch();
	return true;
}

void fuzz_settle(void)
{
	for (int turn = 0; turn < MAX_TURNS; turn++) {
		bool busy = run_task();

		busy |= agenda_run_timer(now_ns);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a test for each path of a READ, or for each kind of link. */
#ifndef SHUFFLE_RDMA_TEST_PATHS_H
#define SHUFFLE_RDMA_TEST_PATHS_H

#include "test.h"

static inline bool test_path_is(const char *path)
{
	const char *forced = getenv("SOFTVERBS_PATH");

	return forced && !strcmp(forced, path);
}

/* READs go as frames: on a unix socket or over TCP. */
static inline bool test_path_is_wire(void)
{
	return test_path_is("wire") || test_path_is("tcp");
}

static inline pid_t start_on_path(const char *path, void (*body)(void))
{
	pid_t pid = test_fork();

	if (pid)
		return pid;
	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", path, 1);
	if (!strcmp(path, "tcp"))
		setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	body();
	exit(0);
}

static inline void end_on_path(const char *path, pid_t pid)
{
	int status;

	CHECK_EQUAL(waitpid(pid, &status, 0), pid);
	if (status) {
		fprintf(stderr, "on the path %s:\n", path);
		CHECK_EQUAL(status, 0);
	}
}

static const char *const all_paths[] = {"file", "cma", "wire", "tcp"};

enum { PATHS = sizeof(all_paths) / sizeof(all_paths[0]), FIRST_LINK = 2 };

/* Another device has one path. */
static inline void on_paths_from(int first, void (*body)(void))
{
	if (test_device()) {
		alarm(TEST_SECONDS);
		body();
		return;
	}
	alarm(PATHS * TEST_SECONDS);
	for (int i = first; i < PATHS; i++)
		end_on_path(all_paths[i], start_on_path(all_paths[i], body));
}

/* Runs body() in a process of its own for each of the paths; all must succeed. */
static inline void on_each_path(void (*body)(void))
{
	on_paths_from(0, body);
}

/* Likewise for each kind of link, where there are no READs. */
static inline void on_each_link(void (*body)(void))
{
	on_paths_from(FIRST_LINK, body);
}

/* On each path at the same time, for tests that wait most of theirs. They set their own alarm if they need a longer one. */
static inline void on_all_paths(void (*body)(void))
{
	pid_t pids[PATHS];

	if (test_device()) {
		on_each_path(body);
		return;
	}
	for (int i = 0; i < PATHS; i++)
		pids[i] = start_on_path(all_paths[i], body);
	for (int i = 0; i < PATHS; i++)
		end_on_path(all_paths[i], pids[i]);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What a part of a test writes to stderr. */
#ifndef SHUFFLE_RDMA_TEST_CAPTURED_H
#define SHUFFLE_RDMA_TEST_CAPTURED_H

#include "test.h"

struct capture {
	FILE *log;
	int real_stderr;
};

static inline struct capture capture_stderr(void)
{
	struct capture capture = {tmpfile(), dup(STDERR_FILENO)};

	CHECK(capture.log && dup2(fileno(capture.log), STDERR_FILENO) >= 0);
	return capture;
}

/* From here on stderr is the test's own again, and `log` can be read. */
static inline void end_capture(struct capture *capture)
{
	CHECK(dup2(capture->real_stderr, STDERR_FILENO) >= 0);
	close(capture->real_stderr);
	rewind(capture->log);
}

/* How many lines of the file have both. */
static inline int lines_with(FILE *file, const char *words, const char *others)
{
	char line[1024];
	int count = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, words) && strstr(line, others);
	return count;
}

#endif

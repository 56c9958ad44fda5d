/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/log.h"

#include "process/file.h"

#include "process/cancel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum log_level threshold = LOG_ERROR;

static void read_threshold(void)
{
	const char *value = secure_getenv("SOFTVERBS_LOG");

	for (unsigned int i = 0; value && i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (!strcmp(value, level_names[i]))
			threshold = i;
}

/*
 * Returns false if there is no room, because a reader of stderr that stops must not stop the device. The device does not
 * set O_NONBLOCK, because others write to the same open file. Where a single write cannot be told not to wait, as on a
 * terminal, the answer of poll() must suffice.
 */
static bool write_if_room(char *line, size_t length)
{
	struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};
	struct iovec iov = {line, length};

	if (poll(&ready, 1, 0) != 1 || ready.revents != POLLOUT)
		return false;
	if (pwritev2(STDERR_FILENO, &iov, 1, -1, RWF_NOWAIT) >= 0)
		return true;
	/* EAGAIN means that another process was faster. For a file it means that the disk is busy, and the device waits. */
	return (errno != EAGAIN || file_is_regular(STDERR_FILENO)) && write(STDERR_FILENO, line, length) >= 0;
}

void log_write(enum log_level level, const char *format, ...)
{
	static atomic_uint lost_ones;
	char line[512];
	int saved_errno = errno;
	unsigned int lost;
	va_list args;
	int used, cancel;

	pthread_once(&once, read_threshold);
	if (level > threshold)
		return;
	lost = atomic_exchange(&lost_ones, 0);
	used = snprintf(line, sizeof(line), "softverbs[%d] %s: ", (int)getpid(), level_names[level]);
	if (lost)
		used += snprintf(line + used, sizeof(line) - used, "(%u messages before were lost: stderr took no more) ", lost);
	va_start(args, format);
	used += vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	if (used > (int)sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	cancel = cancel_put_off();
	if (!write_if_room(line, used))
		atomic_fetch_add(&lost_ones, lost + 1);
	cancel_restore(cancel);
	errno = saved_errno;
}

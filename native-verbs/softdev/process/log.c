/* SPDX-License-Identifier: Apache-2.0 */
#include "log.h"

#include "cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	const char *value = getenv("SOFTVERBS_LOG");

	for (unsigned int i = 0; value && i < sizeof(level_names) / sizeof(level_names[0]); i++)
		if (!strcmp(value, level_names[i]))
			threshold = i;
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[512];
	int saved_errno = errno;
	va_list args;
	int used, cancel;

	pthread_once(&once, read_threshold);
	if (level > threshold)
		return;
	used = snprintf(line, sizeof(line), "softverbs[%d] %s: ", (int)getpid(), level_names[level]);
	va_start(args, format);
	used += vsnprintf(line + used, sizeof(line) - used - 1, format, args);
	va_end(args);
	if (used > (int)sizeof(line) - 2)
		used = sizeof(line) - 2;
	line[used++] = '\n';
	cancel = cancel_put_off();
	if (write(STDERR_FILENO, line, used) < 0)
		errno = saved_errno;
	cancel_restore(cancel);
	errno = saved_errno;
}

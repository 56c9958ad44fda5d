/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/file.h"

#include "process/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool file_is_regular(int fd)
{
	struct statx about; /* fstat() would need a newer libc than we ask for */

	return !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &about) && S_ISREG(about.stx_mode);
}

void file_append_json(const char *variable, const char *head, const char *const *names, const uint64_t *values, int count)
{
	const char *path = secure_getenv(variable);
	char line[2048];
	int fd, used = snprintf(line, sizeof(line), "{\"pid\":%d%s", (int)getpid(), head);

	for (int i = 0; i < count; i++)
		used += snprintf(line + used, sizeof(line) - used, ",\"%s\":%" PRIu64, names[i], values[i]);
	used += snprintf(line + used, sizeof(line) - used, "}\n");
	fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
	if (path && (fd < 0 || write(fd, line, used) != used))
		log_error("%s=%s: %s", variable, path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

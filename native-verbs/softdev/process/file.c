/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/file.h"

#include <fcntl.h>
#include <sys/stat.h>

bool file_is_regular(int fd)
{
	struct statx about; /* fstat() would need a newer libc than we ask for */

	return !statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &about) && S_ISREG(about.stx_mode);
}

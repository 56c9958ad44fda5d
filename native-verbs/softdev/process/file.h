/* SPDX-License-Identifier: Apache-2.0 */
/* What several folders ask of files. */
#ifndef SOFTDEV_FILE_H
#define SOFTDEV_FILE_H

#include <stdbool.h>

bool file_is_regular(int fd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What several folders ask of files and write to them. */
#ifndef SOFTDEV_FILE_H
#define SOFTDEV_FILE_H

#include <stdbool.h>
#include <stdint.h>

bool file_is_regular(int fd);

/*
 * Appends {"pid":N HEAD,"NAME":VALUE,...} to the file that the environment variable names. The line is written by one
 * call, so that lines of several processes do not mix. `head` is empty, or consists of members that begin with a comma.
 */
void file_append_json(const char *variable, const char *head, const char *const *names, const uint64_t *values, int count);

#endif

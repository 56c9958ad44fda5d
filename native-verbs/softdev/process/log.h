/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages on stderr, of the level in SOFTVERBS_LOG (error, warn, info, debug; default error) and of those before it. A
 * message that finds no room is lost, and the next one says so. Any thread, with any lock held. errno is preserved.
 */
#ifndef SOFTDEV_LOG_H
#define SOFTDEV_LOG_H

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, __VA_ARGS__)

#endif

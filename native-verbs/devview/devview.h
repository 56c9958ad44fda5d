/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DEVVIEW_H
#define DEVVIEW_H

/* Prints "softverbs: --dev: WHAT: strerror(errno)" and ends the program with status 2. */
__attribute__((format(printf, 1, 2), noreturn)) void give_up(const char *format, ...);

/* A mount namespace of this process alone; for users other than root in a user namespace of the same user. */
void enter_private_namespace(void);

/* Lays an empty file system over `folder` that shows what `folder` shows, but not the entries named `hide` (ends with NULL). */
void cover(const char *folder, const char *const *hide);

/* /sys/class/infiniband and its neighbours, as the device describes itself. */
void show_class_files(void);

/* /dev/infiniband. */
void show_device_files(void);

#endif

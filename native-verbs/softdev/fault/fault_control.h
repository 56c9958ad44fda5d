/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTVERBS_FAULT_CONTROL=PATH or @NAME: a unix socket at which the owner of the process sets faults while it runs.
 * One command a line, one line as the answer, "ok ..." or "error ..."; docs/fault-injection.md lists the commands.
 */
#ifndef SOFTDEV_FAULT_CONTROL_H
#define SOFTDEV_FAULT_CONTROL_H

#include <stddef.h>

/* Listens if the variable is set. 0, or an errno after an error message. Once, before the device is used. */
int fault_control_start(void);

/* fault_commands.c: does what a line says and writes the answer, without its newline. Progress thread. */
void fault_command(char *line, char *answer, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SOFTVERBS_FAULT_CONTROL=PATH or @NAME names a unix socket at which the owner of the process sets faults while it runs.
 * Each line is a command, and its answer is a line "ok ..." or "error ..."; docs/fault-injection.md lists the commands.
 */
#ifndef SOFTDEV_FAULT_CONTROL_H
#define SOFTDEV_FAULT_CONTROL_H

#include <stddef.h>

/* Listens if the variable is set. 0, or a positive errno after an error message. Called once, before the first use. */
int fault_control_start(void);

/* fault_commands.c. Executes a line and writes the answer, without its newline. Progress thread. */
void fault_command(char *line, char *answer, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel about memory of this process, where a plain access could end it with SIGSEGV or SIGBUS. */
#ifndef SOFTDEV_PROBE_H
#define SOFTDEV_PROBE_H

#include <stdbool.h>

/* May the aligned four bytes around it be written? Brings their page in. */
bool probe_writable(const void *address);

#endif

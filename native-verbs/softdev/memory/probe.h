/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the kernel about memory of this process, where a plain access could end it with SIGSEGV or SIGBUS. */
#ifndef SOFTDEV_PROBE_H
#define SOFTDEV_PROBE_H

#include <stdbool.h>

/* Returns true if the aligned four bytes around an address can be written; their page is then in memory. */
bool probe_writable(const void *address);

#endif

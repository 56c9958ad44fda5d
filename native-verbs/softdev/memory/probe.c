/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "memory/probe.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * FUTEX_WAKE_OP makes the kernel write to the word, by an atomic OR with 0, which changes nothing. Nobody waits for the
 * wake-up that belongs to it.
 */
bool probe_writable(const void *address)
{
	uint32_t unused = 0;
	uintptr_t word = (uintptr_t)address & ~(uintptr_t)3;

	return syscall(SYS_futex, &unused, FUTEX_WAKE_OP_PRIVATE, 0, NULL, word,
			FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_EQ, 2047)) >= 0 ||
	       errno != EFAULT;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox: system calls that fail from here on, in this process and its children. */
#ifndef SHUFFLE_RDMA_TEST_DENIED_H
#define SHUFFLE_RDMA_TEST_DENIED_H

#include "test.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#define DENIED_LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define DENIED_IF_NOT(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))

static inline void denied_install(struct sock_filter *filter, unsigned short length)
{
	struct sock_fprog program = {.len = length, .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		test_skip("seccomp filters are not allowed here");
}

/* The call of this thread fails with that errno if its argument `which`, counted from 0, has that value. */
static inline void deny_call(unsigned int number, int which, unsigned int value, unsigned int error)
{
	struct sock_filter filter[] = {
		DENIED_LOAD(nr),
		DENIED_IF_NOT(number, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + which * sizeof(uint64_t)),
		DENIED_IF_NOT(value, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	denied_install(filter, COUNT_OF(filter));
}

#endif

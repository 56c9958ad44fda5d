/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of other users, which only root can start. */
#ifndef SHUFFLE_RDMA_TEST_USERS_H
#define SHUFFLE_RDMA_TEST_USERS_H

#include <grp.h>

#include "test.h"

enum { NOBODY = 65534 };

static inline void need_root(void)
{
	if (geteuid())
		test_skip("only root can start a process of another user");
}

static inline void become_user(uid_t user)
{
	CHECK(!setgroups(0, NULL) && !setgid(user) && !setuid(user));
}

#endif

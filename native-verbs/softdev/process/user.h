/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTDEV_USER_H
#define SOFTDEV_USER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Is that, as the kernel told it of a peer, certainly the user that this process runs as? In a user namespace all users that it
 * does not map look like one, the overflow uid: that one is nobody's there, not even this process' own.
 */
bool user_is_own(uid_t uid);

#endif

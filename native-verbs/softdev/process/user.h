/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOFTDEV_USER_H
#define SOFTDEV_USER_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Returns true if `uid`, which the kernel has reported of a peer, certainly is the user that this process runs as. In a
 * user namespace all users that it does not map look alike, as the overflow uid. That uid therefore counts as nobody's,
 * not even as that of this process.
 */
bool user_is_own(uid_t uid);
/* The same for whoever is at the other end of a unix socket. */
bool user_is_own_at(int fd);

#endif

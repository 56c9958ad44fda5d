/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/user.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ALL_USERS 4294967295ul

enum { USUAL_OVERFLOW_UID = 65534 };

static uid_t overflow_uid(void)
{
	FILE *file = fopen("/proc/sys/kernel/overflowuid", "re");
	unsigned int uid;

	if (!file || fscanf(file, "%u", &uid) != 1)
		uid = USUAL_OVERFLOW_UID;
	if (file)
		fclose(file);
	return uid;
}

/* Returns true if this user namespace maps all users, as the first one does; false if that cannot be told. */
static bool all_users_are_mapped(void)
{
	FILE *file = fopen("/proc/self/uid_map", "re");
	unsigned long inside, outside, count = 0;
	bool all = file && fscanf(file, "%lu %lu %lu", &inside, &outside, &count) == 3 && count == ALL_USERS;

	if (file)
		fclose(file);
	return all;
}

bool user_is_own(uid_t uid)
{
	return uid == geteuid() && (uid != overflow_uid() || all_users_are_mapped());
}

bool user_is_own_at(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && user_is_own(peer.uid);
}

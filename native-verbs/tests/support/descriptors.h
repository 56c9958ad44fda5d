/* SPDX-License-Identifier: Apache-2.0 */
/* How many descriptors this process has open (proc(5), /proc/PID/fd): what peers do must not leave any behind. */
#ifndef SHUFFLE_RDMA_TEST_DESCRIPTORS_H
#define SHUFFLE_RDMA_TEST_DESCRIPTORS_H

#include "test.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

static inline int count_descriptors(bool sockets_only)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat status;
	int count = 0;

	CHECK(directory);
	while ((entry = readdir(directory)))
		count += !sockets_only ||
			 (!fstatat(dirfd(directory), entry->d_name, &status, 0) && S_ISSOCK(status.st_mode));
	closedir(directory);
	return count;
}

/* Those of one file; `one` is set to one of them. */
static inline int descriptors_of(const struct stat *file, int *one)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat status;
	int count = 0;

	CHECK(directory);
	while ((entry = readdir(directory)))
		if (!fstatat(dirfd(directory), entry->d_name, &status, 0) && status.st_ino == file->st_ino &&
		    status.st_dev == file->st_dev) {
			*one = atoi(entry->d_name);
			count++;
		}
	closedir(directory);
	return count;
}

static inline int open_descriptors(void)
{
	return count_descriptors(false);
}

static inline int open_sockets(void)
{
	return count_descriptors(true);
}

/* Waits until there are so many or fewer: a link closes behind the event that tells of it. */
static inline void expect_descriptors(int at_most)
{
	AWAIT(open_descriptors() <= at_most);
}

static inline void limit_descriptors(rlim_t most)
{
	CHECK(!setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, most}));
}

/* Allows as many as the system grants; skips the test if that is fewer than least. */
static inline void allow_descriptors(rlim_t least)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_max < least)
		test_skip("a process may not have so many descriptors");
	limit_descriptors(limit.rlim_max);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* A file region that gets other rights: the peer closes the descriptor it had, also if it never reads there again. */
#include "softdev_fixture.h"

#include <dirent.h>
#include <sys/stat.h>

enum { BYTES = 65536 };

/* How many descriptors of this process are the file behind `fd`. */
static int descriptors_of(int fd)
{
	DIR *directory = opendir("/proc/self/fd");
	struct dirent *entry;
	struct stat wanted, found;
	int count = 0;

	CHECK(directory);
	CHECK(!fstat(fd, &wanted));
	while ((entry = readdir(directory)))
		count += !fstat(atoi(entry->d_name), &found) && found.st_ino == wanted.st_ino &&
			 found.st_dev == wanted.st_dev;
	closedir(directory);
	return count;
}

static void wait_for_descriptors(int fd, int count)
{
	uint64_t deadline = test_now_ms() + WAIT_MS;

	while (descriptors_of(fd) != count) {
		CHECK(test_now_ms() < deadline);
		usleep(1000);
	}
}

int main(void)
{
	struct region sink, source;
	struct pair pair;
	int before;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", "file", 1);
	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, BYTES, ALL_REMOTE);
	before = descriptors_of(source.fd);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(descriptors_of(source.fd), before + 1);
	CHECK_EQUAL(softverbs_ibv_rereg_mr(source.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					   IBV_ACCESS_REMOTE_READ),
		    0);
	wait_for_descriptors(source.fd, before);
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_SUCCESS);
	CHECK_EQUAL(descriptors_of(source.fd), before + 1);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports whose unix names somebody else holds are passed over, and nothing of them stays: neither a descriptor nor a
 * listener that takes the TCP links of the port that is used in the end.
 */
#include "raw_responder.h"
#include "softdev_fixture.h"

#include <dirent.h>

enum { FIRST_PORT = 41200, HELD = 30, RANGE = 60, BYTES = 4096, DESCRIPTORS = 30 };

static void hold_names(void)
{
	for (int port = FIRST_PORT; port < FIRST_PORT + HELD; port++) {
		struct sockaddr_un name;
		socklen_t length = raw_link_name(port, &name);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		CHECK(fd >= 0);
		CHECK(!bind(fd, (struct sockaddr *)&name, length) || errno == EADDRINUSE);
	}
}

static int open_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

int main(void)
{
	struct region sink, source;
	struct pair pair;
	char range[32];
	int before;

	alarm(TEST_SECONDS);
	snprintf(range, sizeof(range), "%d-%d", FIRST_PORT, FIRST_PORT + RANGE);
	setenv("SOFTVERBS_PORT_RANGE", range, 1);
	setenv("SOFTVERBS_SECRET", "of this test", 1);
	setenv("SOFTVERBS_PATH", "tcp", 1);
	hold_names();
	before = open_descriptors();
	open_pair(&pair, NULL, NULL);
	CHECK(pair.a.qp->qp_num >> 8 >= FIRST_PORT + HELD);
	sink = create_region(pair.a.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(pair.b.pd, BYTES, ALL_REMOTE);
	source.bytes[BYTES - 1] = 9;
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, BYTES, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink.bytes[BYTES - 1], 9);
	CHECK(open_descriptors() - before < DESCRIPTORS);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
	return 0;
}

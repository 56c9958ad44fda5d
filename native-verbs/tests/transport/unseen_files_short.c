/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors of files that cannot be passed are done without: the reader has no room for them, or their owner has none
 * for copies of them. Every READ brings its bytes in another way.
 */
#include "descriptors.h"
#include "unseen.h"

#include <sys/resource.h>

enum { ROOM = 10 };

static enum { READER, OWNER } who_is_short;

static void limit_descriptors(int most)
{
	struct rlimit limit = {most, most};

	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void serve(int fd)
{
	struct region files[UNSEEN_FILES];
	struct side side;

	unseen_offer(fd, &side, files);
	test_await(fd);
	if (who_is_short == OWNER)
		limit_descriptors(open_descriptors() + ROOM);
	test_signal(fd);
	test_await(fd);
	unseen_destroy(&side, files);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct softverbs_counters before, after;
	struct unseen unseen;

	unseen_open(&unseen, peer.fd, NULL);
	test_signal(peer.fd);
	test_await(peer.fd);
	if (who_is_short == READER)
		limit_descriptors(open_descriptors() + ROOM);
	before = counters_now();
	unseen_read(&unseen);
	unseen_read(&unseen);
	after = counters_now();
	CHECK(after.reads_file - before.reads_file < UNSEEN_FILES); /* of two lists */
	if (test_path_is("auto"))
		CHECK_EQUAL(after.reads_wire, before.reads_wire);
	test_signal(peer.fd);
	test_join_peer(&peer);
	close_side(&unseen.side);
}

int main(void)
{
	static const char *const paths[] = {"auto", "file"};

	for (who_is_short = READER; who_is_short <= OWNER; who_is_short++)
		for (unsigned int i = 0; i < COUNT_OF(paths); i++)
			end_on_path(paths[i], start_on_path(paths[i], body));
}

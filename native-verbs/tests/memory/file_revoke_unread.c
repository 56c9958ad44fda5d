/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that was given a file and takes nothing any more, while other files come and go: what it is to be told about them
 * does not pile up, and the last thing that it finds when it reads on is that files are revoked.
 */
#include "raw_requester.h"

enum { BYTES = 4096, ROUNDS = 3000, MOST_FRAMES = 1000, QUIET_MS = 1000 };

/* Connects to the queue pair as a peer would, and asks for the file of the region. */
static int take_file(const struct side *side, const struct region *region)
{
	struct address to = address_of(side);
	const struct shared_table *table;
	int fd = raw_requester_enter(&to, &table);

	CHECK_EQUAL(raw_ask_for_file(fd, region->mr->rkey, table->mr[region->mr->rkey >> 16].generation), 0);
	return fd;
}

/* A file that somebody else reads, and that is gone then. */
static void use_file(struct pair *pair)
{
	struct region region = create_region(pair->b.pd, BYTES, IBV_ACCESS_REMOTE_READ);

	read_and_expect(&pair->a, 1, pair->local, BYTES, (uintptr_t)region.bytes, region.mr->rkey, IBV_WC_SUCCESS);
	destroy_region(&region);
}

int main(void)
{
	struct frame frame = {0};
	struct region *first;
	struct pair pair;
	struct side asked;
	int fd, frames = 0;

	alarm(TEST_SECONDS);
	setenv("SOFTVERBS_PATH", "file", 1);
	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	open_side(&asked, 16, 16);
	connect_to_raw(&asked);
	first = add_region(&asked, BYTES, IBV_ACCESS_REMOTE_READ);
	fd = take_file(&asked, first);
	for (int i = 0; i < ROUNDS; i++)
		use_file(&pair);
	for (; test_readable(fd, QUIET_MS); frames++)
		CHECK(raw_read_frame(fd, &frame, NULL, 0));
	CHECK_EQUAL(frame.op, WIRE_FILE_REVOKE);
	CHECK(frames < MOST_FRAMES);
	close(fd);
	close_side(&asked);
	close_pair(&pair);
}

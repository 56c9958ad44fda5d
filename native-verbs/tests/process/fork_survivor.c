/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process forks, its child lives on, and it is killed itself: its peers notice at once, for the child holds none of its
 * connections. And the other way round: children that end in whatever way leave the connections of their parent alone.
 */
#include "offer.h"

enum { BYTES = 4096, CHILDREN = 12 };

static void end_in_some_way(int which)
{
	switch (which % 4) {
	case 0:
		exit(0);
	case 1:
		_exit(0);
	case 2:
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	default:
		kill(getpid(), SIGKILL);
	}
}

static void serve(int fd)
{
	struct side side;
	struct region *region;
	pid_t survivor;

	open_side(&side, 16, 16);
	region = add_region(&side, BYTES, IBV_ACCESS_REMOTE_READ);
	memset(region->bytes, 7, BYTES);
	offer_region(fd, &side, region, NULL);
	test_await(fd);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		pid_t child = test_fork();

		if (!child)
			end_in_some_way(i);
		CHECK_EQUAL(waitpid(child, &status, 0), child);
		test_rendezvous(fd);
	}
	survivor = fork();
	if (!survivor) {
		alarm(TEST_SECONDS);
		close(fd);
		pause();
		_exit(0);
	}
	test_send(fd, &survivor, sizeof(survivor));
	test_await(fd); /* killed here */
}

static void expect_read(struct side *side, struct region *sink, const struct offer *offer, enum ibv_wc_status status)
{
	memset(sink->bytes, 0, BYTES);
	read_and_expect(side, 1, sink, BYTES, offer->addr, offer->rkey, status);
	CHECK(status != IBV_WC_SUCCESS || (sink->bytes[0] == 7 && sink->bytes[BYTES - 1] == 7));
}

static void body(void)
{
	/* 4.096 us << 20 = 4.3 s a try: the kill must not need a timeout. */
	static const struct connection slow = {.timeout = 20, .retry_count = 7};
	struct test_peer peer = test_start_peer(serve);
	struct region *sink;
	struct side side;
	struct offer offer;
	uint64_t start;
	pid_t survivor;

	offer = open_reader(peer.fd, &side, BYTES, &slow, &sink);
	expect_read(&side, sink, &offer, IBV_WC_SUCCESS);
	test_signal(peer.fd);
	for (int i = 0; i < CHILDREN; i++) {
		test_await(peer.fd);
		expect_read(&side, sink, &offer, IBV_WC_SUCCESS);
		test_signal(peer.fd);
	}
	test_receive(peer.fd, &survivor, sizeof(survivor));
	expect_read(&side, sink, &offer, IBV_WC_SUCCESS);
	test_kill_peer(&peer);
	start = test_now_ms();
	CHECK(!kill(survivor, 0));
	expect_read(&side, sink, &offer, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start < 1500 * TEST_SLOWER);
	CHECK(!kill(survivor, SIGKILL));
	close_side(&side);
	check_no_leaks();
}

MAIN(on_each_path, body)

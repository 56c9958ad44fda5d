/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of files is stopped or dies while a reader asks about all their keys: the first READ of the list ends as
 * RETRY_EXC_ERR in bounded time, and those behind it are flushed.
 */
#include "unseen.h"

static void serve(int fd)
{
	struct region files[UNSEEN_FILES];
	struct side side;

	unseen_offer(fd, &side, files);
	test_await(fd);
}

static void run(const struct connection *how, bool dies)
{
	struct test_peer peer = test_start_peer(serve);
	struct unseen unseen;
	uint64_t start;

	unseen_open(&unseen, peer.fd, how);
	test_stop_peer(&peer);
	start = test_now_ms();
	unseen_post(&unseen);
	if (dies) {
		expect_silence(unseen.side.cq, 100);
		test_kill_peer(&peer);
	}
	expect_completion(unseen.side.cq, 0, IBV_WC_RETRY_EXC_ERR);
	expect_completions(unseen.side.cq, 1, UNSEEN_FILES - 1, IBV_WC_WR_FLUSH_ERR);
	CHECK(test_now_ms() - start < 6000 * TEST_SLOWER);
	if (!dies)
		test_kill_peer(&peer);
	close_side(&unseen.side);
	check_no_leaks();
}

static void stop(void)
{
	static const struct connection quick = {.timeout = 10, .retry_count = 2};

	run(&quick, false);
}

static void die(void)
{
	static const struct connection slow = {.timeout = 20, .retry_count = 7};

	run(&slow, true);
}

int main(void)
{
	end_on_path("file", start_on_path("file", stop));
	end_on_path("file", start_on_path("file", die));
}

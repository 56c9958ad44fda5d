/* SPDX-License-Identifier: Apache-2.0 */
/* A responder that talks all the time and never answers is not waited for: RETRY_EXC_ERR within the retry time. */
#include "raw_responder.h"

enum { PAUSE_MS = 50, LIMIT_MS = 6000 };

static void chat(int control)
{
	int fd = raw_responder_accept(raw_responder_start(control));

	for (uint64_t i = 0;; i++) {
		const struct wire_key key = {.generation = i, .rkey = 1, .status = ENOENT};
		const struct frame frames[] = {{.op = WIRE_FILE_REVOKE}, {.op = WIRE_FILE_REPLY, .length = sizeof(key)}};

		if (!raw_write_frame(fd, &frames[i % 2], &key))
			break;
		test_sleep_ms(PAUSE_MS);
	}
	test_await(control);
}

int main(void)
{
	static const struct connection quick = {.timeout = 10, .retry_count = 2};
	struct test_peer peer = test_start_peer(chat);
	struct address remote;
	struct region *region;
	struct side side;
	uint64_t start;

	open_side(&side, 16, 16);
	region = add_region(&side, 4096, ALL_REMOTE);
	remote = raw_responder_at(peer.fd, &side);
	connect_side(&side, &remote, &quick);
	start = test_now_ms();
	CHECK_EQUAL(post(side.qp, IBV_WR_RDMA_WRITE, 1, sge_of(region, 0, 64), 4096, 1), 0);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 2, sge_of(region, 0, 64), 0, 0), 0);
	expect_completion(side.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_completion(side.cq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK(test_now_ms() - start < LIMIT_MS);
	test_signal(peer.fd);
	close_side(&side);
	test_join_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A sender on an unreliable connection does not wait for ever for a peer that reads no more: what it sends is lost. */
#include "offer.h"

enum { BYTES = 1 << 20, SENDS = 32, LAST_BYTES = 77 };

static void serve(int fd)
{
	struct region *region;
	struct side side;

	open_side_of(&side, IBV_QPT_UC, 64, 64);
	region = add_region(&side, BYTES, ALL_REMOTE);
	connect_over(fd, &side, NULL);
	for (int i = 0; i < 64; i++)
		CHECK_EQUAL(post_receive(side.qp, i, sge_of(region, 0, BYTES)), 0);
	test_signal(fd);
	test_await(fd); /* stopped here, and later not any more */
	for (struct ibv_wc wc = {0}; wc.byte_len != LAST_BYTES;) {
		wc = wait_completion(side.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	}
	close_side(&side);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region *region;
	struct side side;
	int status;

	open_side_of(&side, IBV_QPT_UC, 64, 64);
	region = add_region(&side, BYTES, ALL_REMOTE);
	connect_over(peer.fd, &side, NULL);
	test_await(peer.fd);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 0, sge_of(region, 0, 8), 0, 0), 0);
	expect_completion(side.cq, 0, IBV_WC_SUCCESS);
	test_stop_peer(&peer);
	for (int i = 0; i < SENDS; i++)
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, i, sge_of(region, 0, BYTES), 0, 0), 0);
	expect_completions(side.cq, 0, SENDS - 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(side.qp), IBV_QPS_RTS);
	test_continue_peer(&peer);
	test_signal(peer.fd);
	/* Until one of these gets through. */
	for (int i = 0; i < 100 && !waitpid(peer.pid, &status, WNOHANG); i++) {
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(region, 0, LAST_BYTES), 0, 0), 0);
		expect_completion(side.cq, 1, IBV_WC_SUCCESS);
		test_sleep_ms(50);
	}
	CHECK_EQUAL(status, 0);
	close(peer.fd);
	close_side(&side);
	check_no_leaks();
}

MAIN(on_each_link, body)

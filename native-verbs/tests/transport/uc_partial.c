/* SPDX-License-Identifier: Apache-2.0 */
/* The sender on an unreliable connection dies in the middle of a message: the receiver never learns that there was one. */
#include "offer.h"

enum { LONG = 256 << 20 };

static void send_and_die(int fd)
{
	struct region *region;
	struct side side;

	open_side_of(&side, IBV_QPT_UC, 16, 16);
	region = add_region(&side, LONG, IBV_ACCESS_LOCAL_WRITE);
	memset(region->bytes, 7, LONG);
	connect_over(fd, &side, NULL);
	test_await(fd);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(region, 0, LONG), 0, 0), 0);
	test_await(fd);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(send_and_die);
	struct region *region;
	struct side side;

	open_side_of(&side, IBV_QPT_UC, 16, 16);
	region = add_region(&side, LONG, IBV_ACCESS_LOCAL_WRITE);
	connect_over(peer.fd, &side, NULL);
	CHECK_EQUAL(post_receive(side.qp, 9, sge_of(region, 0, LONG)), 0);
	test_signal(peer.fd);
	for (uint64_t deadline = test_now_ms() + WAIT_MS; *(volatile uint8_t *)region->bytes != 7;)
		CHECK(test_now_ms() < deadline); /* without a pause, which may be longer than the message */
	test_kill_peer(&peer);
	expect_silence(side.cq, 50);
	CHECK_EQUAL(state_of(side.qp), IBV_QPS_RTS);
	move_qp(side.qp, IBV_QPS_ERR);
	expect_completion(side.cq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(side.cq);
	close(peer.fd);
	close_side(&side);
	check_no_leaks();
}

MAIN(on_each_link, body)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program sends before it ends its queue pair arrives whole, although the peer answers what came before when the
 * queue pair is gone: over TCP such an answer after a plain close() would make the kernel drop what it has taken.
 */
#include "offer.h"

enum { EARLIER = 8, BYTES = 192 << 10 };

static void receive(int fd)
{
	struct side side;
	struct region *sink;

	open_side(&side, 64, 32);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	offer_region(fd, &side, sink, NULL);
	for (int i = 0; i <= EARLIER; i++)
		CHECK_EQUAL(post_receive(side.qp, i, sge_of(sink, 0, BYTES)), 0);
	test_signal(fd);
	expect_completions(side.cq, 0, EARLIER, IBV_WC_SUCCESS);
	for (int i = 0; i < BYTES; i++)
		CHECK_EQUAL(sink->bytes[i], 0x5a);
	close_side(&side);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(receive);
	struct region *source;
	struct side side;

	open_side(&side, 64, 32);
	source = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	memset(source->bytes, 0x5a, BYTES);
	accept_offer(peer.fd, &side, NULL);
	test_await(peer.fd);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 0, sge_of(source, 0, 8), 0, 0), 0);
	expect_completion(side.cq, 0, IBV_WC_SUCCESS); /* there is a connection */
	test_stop_peer(&peer);
	for (int i = 1; i <= EARLIER; i++)
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, i, sge_of(source, 0, i < EARLIER ? 8 : BYTES), 0, 0), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
	side.qp = create_qp(&side, 1);
	test_continue_peer(&peer);
	test_join_peer(&peer);
	close_side(&side);
}

MAIN(on_each_link, body)

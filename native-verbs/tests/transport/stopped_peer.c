/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is stopped but alive: process_vm_readv goes on (it is one-sided), and a file whose descriptor is
 * here; the wire, a question for a descriptor and a new connection end as RETRY_EXC_ERR after a bounded time.
 */
#include "offer.h"

enum { BYTES = 65536 };

static const struct connection quick = {.timeout = 10, .retry_count = 2};

static void serve(int fd)
{
	struct side side;
	struct offer second;

	open_side(&side, 16, 16);
	second = offer_of(&side, add_region(&side, BYTES, IBV_ACCESS_REMOTE_READ));
	offer_region(fd, &side, add_region(&side, BYTES, IBV_ACCESS_REMOTE_READ), NULL);
	test_send(fd, &second, sizeof(second));
	test_await(fd);
}

static void expect_read(struct side *side, struct region *sink, const struct offer *offer, enum ibv_wc_status status)
{
	uint64_t start = test_now_ms();

	read_and_expect(side, 1, sink, BYTES, offer->addr, offer->rkey, status);
	CHECK(test_now_ms() - start < 6000 * TEST_SLOWER);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct offer offer, second;
	struct region *sink;
	struct side side;

	offer = open_reader(peer.fd, &side, BYTES, &quick, &sink);
	test_receive(peer.fd, &second, sizeof(second));
	expect_read(&side, sink, &offer, IBV_WC_SUCCESS);
	test_stop_peer(&peer);
	expect_read(&side, sink, &offer, test_path_is_wire() ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	if (!test_path_is_wire()) /* of a region that was not READ before: by file its owner has to say whether the key is right */
		expect_read(&side, sink, &second, test_path_is("cma") ? IBV_WC_SUCCESS : IBV_WC_RETRY_EXC_ERR);
	reconnect_side(&side, &offer.address, &quick);
	expect_read(&side, sink, &offer, IBV_WC_RETRY_EXC_ERR);
	test_kill_peer(&peer);
	close_side(&side);
	check_no_leaks();
}

MAIN(on_all_paths, body)

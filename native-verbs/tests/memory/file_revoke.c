/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptor of a file region reaches the peer read-only, serves its READs, and is closed there when the region
 * is deregistered or the connection by which it came ends, also if another one to the same peer stays: a deleted file
 * gives its space back.
 */
#include "descriptors.h"
#include "offer.h"

#include <fcntl.h>

enum { BYTES = 65536 };

struct offered_file {
	struct offer offer;
	struct stat file;
};

static void serve(int fd)
{
	struct side side, staying;

	open_side(&side, 16, 16);
	connect_over(fd, &side, NULL);
	staying = side;
	staying.qp = create_qp(&side, 4);
	connect_over(fd, &staying, NULL);
	for (int round = 0; round < 2; round++) {
		struct region region = create_file_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
		struct offered_file offered = {.offer = offer_of(&side, &region)};

		CHECK(!fstat(region.fd, &offered.file));
		fill_pattern(region.bytes, BYTES, round);
		test_send(fd, &offered, sizeof(offered));
		test_await(fd);
		destroy_region(&region);
		test_signal(fd);
	}
	test_await(fd);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(staying.qp), 0);
	close_side(&side);
}

static void read_by_file(struct side *side, struct region *sink, const struct offered_file *offered, uint32_t seed)
{
	uint8_t expected[BYTES];
	int received = -1;

	fill_pattern(expected, BYTES, seed);
	read_and_expect(side, 1, sink, BYTES, offered->offer.addr, offered->offer.rkey, IBV_WC_SUCCESS);
	CHECK(!memcmp(sink->bytes, expected, BYTES));
	CHECK_EQUAL(counters_now().reads_wire, 0);
	CHECK_EQUAL(descriptors_of(&offered->file, &received), 1);
	CHECK_EQUAL(fcntl(received, F_GETFL) & O_ACCMODE, O_RDONLY);
}

static void run(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct offered_file offered;
	struct region *sink;
	struct side side, staying;
	int one;

	open_side(&side, 16, 16);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	connect_over(peer.fd, &side, NULL);
	staying = side;
	staying.qp = create_qp(&side, 4);
	connect_over(peer.fd, &staying, NULL);
	for (int round = 0; round < 2; round++) {
		test_receive(peer.fd, &offered, sizeof(offered));
		read_by_file(&side, sink, &offered, round);
		read_and_expect(&staying, 2, sink, BYTES, offered.offer.addr, offered.offer.rkey, IBV_WC_SUCCESS);
		CHECK_EQUAL(descriptors_of(&offered.file, &one), 1);
		if (round) { /* the connection ends first */
			CHECK_EQUAL(softverbs_ibv_destroy_qp(side.qp), 0);
			CHECK_EQUAL(descriptors_of(&offered.file, &one), 0);
			side.qp = create_qp(&side, 4);
		}
		test_rendezvous(peer.fd);
		AWAIT(!descriptors_of(&offered.file, &one));
	}
	CHECK_EQUAL(softverbs_ibv_destroy_qp(staying.qp), 0);
	close_side(&side);
	test_finish_peer(&peer);
}

int main(void)
{
	end_on_path("file", start_on_path("file", run));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair that is destroyed while it answers a READ, the socket full: nobody asks it for more. */
#include "offer.h"
#include "raw_requester.h"

enum { BYTES = 8 << 20 };

static void serve(int fd)
{
	struct side side;
	struct offer offer;

	open_side(&side, 16, 16);
	connect_to_raw(&side);
	offer = offer_of(&side, add_region(&side, BYTES, IBV_ACCESS_REMOTE_READ));
	test_send(fd, &offer, sizeof(offer));
	test_await(fd);
	close_side(&side);
	test_rendezvous(fd);
	check_no_leaks();
}

int main(void)
{
	static uint8_t taken[65536];
	struct test_peer peer = test_start_peer(serve);
	struct frame frame = {.op = WIRE_READ, .total = BYTES};
	struct qp_open open;
	struct offer offer;
	ssize_t got;
	size_t all = 0;
	int link;

	test_receive(peer.fd, &offer, sizeof(offer));
	open = raw_requester_open(&offer.address);
	link = raw_requester_connect(&open);
	frame.rkey = offer.rkey;
	frame.remote_addr = offer.addr;
	CHECK(raw_write_frame(link, &frame, NULL));
	/* The reply to the open, then some of the data. */
	while (all < sizeof(taken)) {
		got = recv(link, taken, sizeof(taken), 0);
		CHECK(got > 0);
		all += got;
	}
	test_rendezvous(peer.fd);
	while ((got = recv(link, taken, sizeof(taken), 0)) > 0)
		all += got;
	CHECK(all < BYTES);
	test_finish_peer(&peer);
	close(link);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A queue pair that is destroyed while it answers a READ, the socket full: nobody asks it for more. */
#include "raw_link.h"
#include "softdev_fixture.h"
#include "queue/wire.h"

enum { BYTES = 8 << 20, OWN_QPN = 0x123456 };

struct offer {
	uint32_t qpn, rkey;
	uint64_t addr;
};

static void serve(int fd)
{
	struct side side;
	struct address remote;
	struct region region;
	struct offer offer;

	open_side(&side, 16, 16);
	region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	remote = address_of(&side);
	remote.qpn = OWN_QPN;
	connect_side(&side, &remote, NULL);
	offer = (struct offer){side.qp->qp_num, region.mr->rkey, (uintptr_t)region.bytes};
	test_send(fd, &offer, sizeof(offer));
	test_await(fd);
	destroy_region(&region);
	close_side(&side);
	test_signal(fd);
	test_await(fd);
	check_no_leaks();
}

static bool write_frame(int fd, const struct frame *frame, const void *payload)
{
	return send(fd, frame, sizeof(*frame), MSG_NOSIGNAL) == sizeof(*frame) &&
	       (!frame->length || send(fd, payload, frame->length, MSG_NOSIGNAL) == frame->length);
}

int main(void)
{
	static uint8_t taken[65536];
	struct test_peer peer = test_start_peer(serve);
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	struct qp_open open = {.source_qpn = OWN_QPN, .qp_type = IBV_QPT_RC};
	struct offer offer;
	ssize_t got;
	size_t all = 0;
	int link;

	test_receive(peer.fd, &offer, sizeof(offer));
	open.destination_qpn = offer.qpn;
	link = raw_link_connect(offer.qpn >> 8);
	raw_link_shake_hands(link, LINK_KIND_QP, write_frame);
	CHECK(write_frame(link, &frame, &open));
	frame = (struct frame){
		.op = WIRE_READ, .rkey = offer.rkey, .remote_addr = offer.addr, .total = BYTES};
	CHECK(write_frame(link, &frame, NULL));
	/* The reply to the open, then some of the data. */
	while (all < sizeof(taken)) {
		got = recv(link, taken, sizeof(taken), 0);
		CHECK(got > 0);
		all += got;
	}
	test_signal(peer.fd);
	test_await(peer.fd);
	while ((got = recv(link, taken, sizeof(taken), 0)) > 0)
		all += got;
	CHECK(all < BYTES);
	test_signal(peer.fd);
	test_join_peer(&peer);
	close(link);
}

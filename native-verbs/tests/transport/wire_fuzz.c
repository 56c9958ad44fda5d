/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever a peer sends on a link, in pieces of whatever size, the responder neither dies nor lets anything
 * happen outside its regions, and goes on serving others. SOFTVERBS_TEST_SEED=N repeats a run.
 */
#include "offer.h"
#include "random.h"
#include "raw_requester.h"

enum { BYTES = 8192, ROUNDS = 150, FRAMES = 30 };

static void serve(int fd)
{
	struct side side;
	struct region *region, *receiver;
	struct ibv_mr *middle;

	open_side(&side, 256, 16);
	region = add_region(&side, 3 * BYTES, 0);
	middle = softverbs_ibv_reg_mr(side.pd, region->bytes + BYTES, BYTES, ALL_REMOTE);
	CHECK(middle);
	receiver = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	for (int round = 0; round <= ROUNDS; round++) {
		struct address remote;
		struct offer offer = {address_of(&side), (uintptr_t)region->bytes + BYTES, middle->rkey};

		memset(region->bytes, 0xc5, 3 * BYTES);
		test_send(fd, &offer, sizeof(offer));
		test_receive(fd, &remote, sizeof(remote));
		reconnect_side(&side, &remote, NULL);
		for (int i = 0; i < 8; i++)
			CHECK_EQUAL(post_receive(side.qp, i, sge_of(receiver, 0, 1000)), 0);
		test_rendezvous(fd);
		for (int i = 0; i < BYTES; i++)
			CHECK(region->bytes[i] == 0xc5 && region->bytes[2 * BYTES + i] == 0xc5);
		test_signal(fd);
	}
	CHECK_EQUAL(softverbs_ibv_dereg_mr(middle), 0);
	close_side(&side);
}

/* In pieces, some of one byte; the other end may close at any time. */
static bool write_pieces(int fd, const void *data, size_t length)
{
	const char *bytes = data;

	while (length) {
		size_t piece = next_random(3) ? length : 1 + next_random(length < 7 ? length : 7);
		ssize_t written = send(fd, bytes, piece, MSG_NOSIGNAL);

		if (written <= 0)
			return false;
		bytes += written;
		length -= written;
	}
	return true;
}

static bool write_frame(int fd, const struct frame *frame, const void *payload)
{
	return write_pieces(fd, frame, sizeof(*frame)) && write_pieces(fd, payload, frame->length);
}

static struct frame random_frame(uint32_t seq, const struct offer *offer)
{
	struct frame frame = {.seq = seq};

	frame.op = next_random(8) ? WIRE_QP_OPEN + next_random(14) : next_random(256);
	frame.flags = next_random(4);
	frame.length = next_random(4) ? next_random(2000) : next_random(100000);
	frame.rkey = next_random(5) ? offer->rkey : offer->rkey ^ next_random(1 << 30);
	frame.remote_addr = offer->addr + (next_random(2) ? next_random(BYTES) : -next_random(BYTES));
	frame.total = next_random(3) ? next_random(2 * BYTES) : next_random(1u << 31);
	frame.arg = next_random(1u << 31);
	if (!next_random(10))
		frame.seq = next_random(1u << 31);
	return frame;
}

static void attack(const struct offer *offer, const struct address *own)
{
	static uint8_t payload[100000];
	struct qp_open open = {.source_qpn = own->qpn, .destination_qpn = offer->address.qpn};
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(open)};
	int fd = raw_link_connect(offer->address.qpn >> 8);
	uint32_t seq = 0;

	if (next_random(8))
		raw_link_shake_hands(fd, LINK_KIND_QP, write_frame);
	if (next_random(8) && !write_frame(fd, &frame, &open))
		goto out;
	for (int i = 0; i < FRAMES; i++) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		static char sink[65536];

		frame = random_frame(seq, offer);
		if (frame.op == WIRE_SEND || frame.op == WIRE_WRITE || frame.op == WIRE_READ)
			seq++;
		if (!write_frame(fd, &frame, payload))
			break;
		while (poll(&ready, 1, 0) == 1 && recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
	}
out:
	close(fd);
}

int main(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct address own;
	struct region *sink;
	struct side side;

	setenv("SOFTVERBS_PATH", "wire", 1);
	random_start();
	open_side(&side, 16, 16);
	sink = add_region(&side, BYTES, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	for (int round = 0; round <= ROUNDS; round++) {
		struct offer offer;

		test_receive(peer.fd, &offer, sizeof(offer));
		test_send(peer.fd, &own, sizeof(own));
		test_await(peer.fd);
		if (round < ROUNDS) {
			attack(&offer, &own);
		} else {
			connect_side(&side, &offer.address, NULL);
			read_and_expect(&side, 1, sink, BYTES, offer.addr, offer.rkey, IBV_WC_SUCCESS);
			CHECK_EQUAL(sink->bytes[0], 0xc5);
		}
		test_rendezvous(peer.fd);
	}
	close_side(&side);
	test_join_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever connects and then says nothing, before the handshake, in it, after it, or in the middle of its first frame, is
 * disconnected after a bounded time; a queue pair's link that was idle as long is not.
 */
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { LIMIT_MS = 15000, LINKS = 6 };

static int say_nothing(uint16_t port)
{
	return raw_link_connect(port);
}

static int say_hello(uint16_t port)
{
	struct raw_hello hello = raw_link_hello(LINK_KIND_QP);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	int fd = raw_link_connect(port);

	CHECK(raw_write_frame(fd, &frame, &hello));
	CHECK(raw_read_frame(fd, &frame, &hello, sizeof(hello)));
	return fd;
}

static int half_a_hello(uint16_t port)
{
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(struct raw_hello)};
	int fd = raw_link_connect(port);

	CHECK_EQUAL(send(fd, &frame, sizeof(frame), 0), sizeof(frame));
	return fd;
}

static int open_nothing(uint16_t port)
{
	int fd = raw_link_connect(port);

	raw_link_shake_hands(fd, LINK_KIND_QP, raw_write_frame);
	return fd;
}

static int request_nothing(uint16_t port)
{
	int fd = raw_link_connect(port);

	raw_link_shake_hands(fd, LINK_KIND_CM, raw_write_frame);
	return fd;
}

static int open_by_half(uint16_t port)
{
	struct frame frame = {.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	int fd = open_nothing(port);

	CHECK_EQUAL(send(fd, &frame, sizeof(frame), 0), sizeof(frame));
	return fd;
}

static void be_silent(int control)
{
	int (*const connectors[LINKS])(uint16_t) = {say_nothing,  half_a_hello,	   say_hello,
						    open_nothing, request_nothing, open_by_half};
	int links[LINKS];
	uint64_t deadline;
	uint16_t port;

	test_receive(control, &port, sizeof(port));
	for (int i = 0; i < LINKS; i++)
		links[i] = connectors[i](port);
	deadline = test_now_ms() + LIMIT_MS;
	for (int i = 0; i < LINKS; i++) {
		uint64_t now = test_now_ms();
		struct frame frame;

		CHECK(now < deadline && test_readable(links[i], deadline - now));
		CHECK(!raw_read_frame(links[i], &frame, NULL, 0));
	}
	test_signal(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(be_silent);
	struct region sink, source;
	struct pair pair;
	uint16_t port;

	setenv("SOFTVERBS_PATH", "wire", 1);
	open_pair(&pair, NULL, NULL);
	sink = create_region(pair.a.pd, 4096, ALL_REMOTE);
	source = create_region(pair.b.pd, 4096, ALL_REMOTE);
	CHECK_EQUAL(post_read(pair.a.qp, 1, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 1, IBV_WC_SUCCESS);
	port = pair.a.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	CHECK_EQUAL(post_read(pair.a.qp, 2, &sink, 8, (uintptr_t)source.bytes, source.mr->rkey), 0);
	expect_completion(pair.a.cq, 2, IBV_WC_SUCCESS);
	test_join_peer(&peer);
	destroy_region(&sink);
	destroy_region(&source);
	close_pair(&pair);
}

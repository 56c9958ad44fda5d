/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever connects and then says nothing, before the handshake, in it, after it, or in the middle of its first frame, is
 * disconnected after a bounded time; a queue pair's link that was idle as long is not.
 */
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { LIMIT_MS = 15000 };

/* How far each link goes before it is silent. */
enum stage { CONNECTED, HALF_A_HELLO, HELLO, OPEN_NOTHING, REQUEST_NOTHING, HALF_AN_OPEN, LINKS };

static int go_as_far_as(enum stage stage, uint16_t port)
{
	struct link_hello hello = raw_link_hello(LINK_KIND_QP);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	int fd = raw_link_connect(port);

	if (stage == HALF_A_HELLO)
		CHECK_EQUAL(send(fd, &frame, sizeof(frame), 0), sizeof(frame));
	if (stage == HELLO) {
		CHECK(raw_write_frame(fd, &frame, &hello));
		CHECK(raw_read_frame(fd, &frame, &hello, sizeof(hello)));
	}
	if (stage >= OPEN_NOTHING)
		raw_link_shake_hands(fd, stage == REQUEST_NOTHING ? LINK_KIND_CM : LINK_KIND_QP, raw_write_frame);
	frame = (struct frame){.op = WIRE_QP_OPEN, .length = sizeof(struct qp_open)};
	if (stage == HALF_AN_OPEN)
		CHECK_EQUAL(send(fd, &frame, sizeof(frame), 0), sizeof(frame));
	return fd;
}

static void be_silent(int control)
{
	int links[LINKS];
	uint64_t deadline;
	uint16_t port;

	test_receive(control, &port, sizeof(port));
	for (int i = 0; i < LINKS; i++)
		links[i] = go_as_far_as(i, port);
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
	struct pair pair;
	uint16_t port;

	setenv("SOFTVERBS_PATH", "wire", 1);
	open_pair_as(&pair, &(struct pair_setup){0});
	pair_run(&pair, IBV_WR_RDMA_READ, 1, 8, IBV_WC_SUCCESS);
	port = pair.a.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	pair_run(&pair, IBV_WR_RDMA_READ, 2, 8, IBV_WC_SUCCESS);
	test_join_peer(&peer);
	close_pair(&pair);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever errno a peer refuses with, the connect has failed: at once, and not with what that errno means elsewhere. */
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { LIMIT_MS = 1500 };

static void refuse(int control)
{
	uint16_t port, reason;
	int listener = raw_responder_listen(&port);

	test_send(control, &port, sizeof(port));
	test_receive(control, &reason, sizeof(reason));
	for (;;) {
		struct frame frame;
		struct link_hello hello;
		int fd = accept(listener, NULL, NULL); /* and kept: its end would tell as well */

		CHECK(fd >= 0);
		CHECK(raw_read_frame(fd, &frame, &hello, sizeof(hello)));
		frame = (struct frame){.op = FRAME_REFUSED, .status = reason};
		CHECK(raw_write_frame(fd, &frame, NULL));
	}
}

static void expect_failure(struct test_peer *peer, uint16_t reason)
{
	static const struct connection patient = {.no_timeout = true};
	uint64_t start = test_now_ms();
	struct address remote;
	struct region *region;
	struct side side;
	uint16_t port;

	test_receive(peer->fd, &port, sizeof(port));
	test_send(peer->fd, &reason, sizeof(reason));
	open_side(&side, 16, 16);
	region = add_region(&side, 4096, ALL_REMOTE);
	remote = address_of(&side);
	remote.qpn = (uint32_t)port << 8 | RAW_QP_INDEX;
	connect_side(&side, &remote, &patient);
	read_and_expect(&side, reason, region, 64, 4096, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start < LIMIT_MS);
	close_side(&side);
}

int main(void)
{
	static const uint16_t reasons[] = {EACCES, EPROTO, EAGAIN, ECANCELED, ENODATA, ECONNREFUSED, 0, 0xffff};
	enum { REASONS = COUNT_OF(reasons) };
	struct test_peer peers[REASONS];

	for (int i = 0; i < REASONS; i++) /* before the device is touched */
		peers[i] = test_start_peer(refuse);
	for (int i = 0; i < REASONS; i++) {
		expect_failure(&peers[i], reasons[i]);
		test_kill_peer(&peers[i]);
	}
	check_no_leaks();
}

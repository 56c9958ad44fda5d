/* SPDX-License-Identifier: Apache-2.0 */
/* A responder that is never ready, and does not read what it is sent again and again: BAD_RESP_ERR before that takes memory. */
#include "raw_responder.h"

#include <sys/ioctl.h>

enum { REQUESTS = 16, ANSWERS = 100000 };

static int bytes_waiting(int fd)
{
	int bytes;

	CHECK(!ioctl(fd, FIONREAD, &bytes));
	return bytes;
}

/* Until the requests have been sent again, or cannot be, for the socket is full. */
static void wait_for(int fd, int bytes)
{
	for (int i = 0; i < 200 && bytes_waiting(fd) < bytes; i++)
		usleep(500);
}

static void never_be_ready(int control)
{
	int fd = raw_responder_accept(raw_responder_start(control));
	struct frame asked;

	CHECK(raw_read_frame(fd, &asked, NULL, 0));
	wait_for(fd, (REQUESTS - 1) * sizeof(asked));
	for (int i = 0; i < ANSWERS; i++) {
		struct frame frame = {.op = WIRE_RNR_NAK, .seq = asked.seq, .status = 1};
		int waiting = bytes_waiting(fd);

		if (!raw_write_frame(fd, &frame, NULL))
			break;
		wait_for(fd, waiting + REQUESTS * (int)sizeof(frame));
	}
	test_await(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(never_be_ready);
	struct address remote;
	struct side side;

	open_side(&side, 64, REQUESTS);
	remote = raw_responder_at(peer.fd, &side);
	connect_side(&side, &remote, NULL);
	for (int i = 0; i < REQUESTS; i++)
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, i, (struct ibv_sge){0}, 0, 0), 0);
	expect_completion(side.cq, 0, IBV_WC_BAD_RESP_ERR);
	expect_completions(side.cq, 1, REQUESTS - 1, IBV_WC_WR_FLUSH_ERR);
	test_signal(peer.fd);
	close_side(&side);
	test_join_peer(&peer);
}

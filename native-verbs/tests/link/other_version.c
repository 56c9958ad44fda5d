/* SPDX-License-Identifier: Apache-2.0 */
/* Ends of different versions refuse each other at once, and each says which version the other one speaks. */
#include "captured.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { OTHER_VERSION = 77 };

static void refuse_a_client(uint16_t port)
{
	struct link_hello hello = raw_link_hello(LINK_KIND_QP);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	int fd = raw_link_connect(port);

	hello.version = OTHER_VERSION;
	CHECK(raw_write_frame(fd, &frame, &hello));
	CHECK(raw_read_frame(fd, &frame, NULL, 0));
	CHECK_EQUAL(frame.op, FRAME_REFUSED);
	CHECK_EQUAL(frame.status, EPROTONOSUPPORT);
	close(fd);
}

/* Takes the connect of the queue pair, and answers as a process of another version: by its name, or by refusing ours. */
static void be_refused_by(struct side *side, bool says_which)
{
	static const struct connection patient = {.no_timeout = true};
	struct region *sink = add_region(side, 4096, IBV_ACCESS_LOCAL_WRITE);
	struct link_hello hello;
	struct address remote = address_of(side);
	struct frame frame;
	uint16_t port;
	int listener = raw_responder_listen(&port), fd;

	remote.qpn = (uint32_t)port << 8 | RAW_QP_INDEX;
	connect_side(side, &remote, &patient);
	CHECK_EQUAL(post_read(side->qp, 1, sink, 64, 4096, 1), 0);
	fd = accept(listener, NULL, NULL);
	CHECK(fd >= 0 && raw_read_frame(fd, &frame, &hello, sizeof(hello)));
	hello.version = OTHER_VERSION;
	frame = says_which ? (struct frame){.op = FRAME_CHALLENGE, .length = sizeof(hello)}
			   : (struct frame){.op = FRAME_REFUSED, .status = EPROTONOSUPPORT};
	CHECK(raw_write_frame(fd, &frame, &hello));
	expect_completion(side->cq, 1, IBV_WC_RETRY_EXC_ERR);
	close(fd);
	close(listener);
}

/* 0: as a server; 1, 2: as a client. */
static int part;

static void body(void)
{
	struct capture capture = capture_stderr();
	struct side side;

	open_side(&side, 16, 16);
	if (part)
		be_refused_by(&side, part == 1);
	else
		refuse_a_client(side.qp->qp_num >> 8);
	end_capture(&capture);
	CHECK_EQUAL(lines_with(capture.log, part == 2 ? "speaks another version" : "speaks version 77", "one build on both ends"),
		    1);
	close_side(&side);
}

int main(void)
{
	for (; part < 3; part++)
		test_run_apart(body);
}

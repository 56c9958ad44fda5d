/* SPDX-License-Identifier: Apache-2.0 */
/* The accepting end of a queue pair's link without the device: for answers that the device never would give. */
#ifndef SHUFFLE_RDMA_RAW_RESPONDER_H
#define SHUFFLE_RDMA_RAW_RESPONDER_H

#include "raw_link.h"
#include "softdev_fixture.h"
#include "queue/wire.h"

enum { RAW_FIRST_PORT = 1024, RAW_QP_INDEX = 7 };

/* Listens on a port that nobody has; tells which. */
static inline int raw_responder_listen(uint16_t *port)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	for (*port = RAW_FIRST_PORT + getpid() % 60000;; ++*port) {
		struct sockaddr_un name;
		socklen_t length = raw_name(*port, &name);

		if (!bind(fd, (struct sockaddr *)&name, length))
			break;
		CHECK_EQUAL(errno, EADDRINUSE);
	}
	CHECK(!listen(fd, 16));
	return fd;
}

/* The same in a peer (test.h), which says at `control` where; raw_responder_at() takes it there. */
static inline int raw_responder_start(int control)
{
	uint16_t port;
	int fd = raw_responder_listen(&port);

	test_send(control, &port, sizeof(port));
	return fd;
}

/* Where the side finds the queue pair that the peer pretends to have. */
static inline struct address raw_responder_at(int control, const struct side *side)
{
	struct address address = address_of(side);
	uint16_t port;

	test_receive(control, &port, sizeof(port));
	address.qpn = (uint32_t)port << 8 | RAW_QP_INDEX;
	return address;
}

/* False at the end of the stream. The payload is read and forgotten if it has more than `room` bytes. */
static inline bool raw_read_frame(int fd, struct frame *frame, void *payload, size_t room)
{
	static char rest[1 << 16];
	size_t left;

	if (recv(fd, frame, sizeof(*frame), MSG_WAITALL) != sizeof(*frame))
		return false;
	left = frame->length;
	if (left <= room)
		return !left || recv(fd, payload, left, MSG_WAITALL) == (ssize_t)left;
	while (left) {
		ssize_t got = recv(fd, rest, left < sizeof(rest) ? left : sizeof(rest), 0);

		if (got <= 0)
			return false;
		left -= got;
	}
	return true;
}

static inline bool raw_write_frame(int fd, const struct frame *frame, const void *payload)
{
	return send(fd, frame, sizeof(*frame), MSG_NOSIGNAL) == sizeof(*frame) &&
	       (!frame->length || send(fd, payload, frame->length, MSG_NOSIGNAL) == (ssize_t)frame->length);
}

/* The server's half of the handshake, without a secret. */
static inline void raw_responder_shake_hands(int fd)
{
	struct link_hello hello = raw_link_hello(LINK_KIND_QP), theirs;
	struct frame frame;
	struct link_proof proof;

	CHECK(raw_read_frame(fd, &frame, &theirs, sizeof(theirs)));
	CHECK_EQUAL(frame.op, FRAME_HELLO);
	memset(hello.nonce, 0x5a, sizeof(hello.nonce));
	frame = (struct frame){.op = FRAME_CHALLENGE, .length = sizeof(hello)};
	CHECK(raw_write_frame(fd, &frame, &hello));
	CHECK(raw_read_frame(fd, &frame, &proof, sizeof(proof)));
	CHECK_EQUAL(frame.op, FRAME_PROOF);
	frame = (struct frame){.op = FRAME_WELCOME, .length = sizeof(proof.mac)};
	CHECK(raw_write_frame(fd, &frame, proof.mac)); /* without a secret both are zeros */
}

/* Takes the next connection up to an open queue pair; reads go over the wire, for no table is passed. */
static inline int raw_responder_accept(int listener)
{
	struct qp_open_reply reply = {.qp_slot = 1, .qp_generation = 1};
	struct frame frame;
	struct qp_open open;
	int fd = accept(listener, NULL, NULL);

	CHECK(fd >= 0);
	raw_responder_shake_hands(fd);
	CHECK(raw_read_frame(fd, &frame, &open, sizeof(open)));
	CHECK_EQUAL(frame.op, WIRE_QP_OPEN);
	frame = (struct frame){.op = WIRE_QP_OPEN_REPLY, .length = sizeof(reply)};
	CHECK(raw_write_frame(fd, &frame, &reply));
	return fd;
}

/* Reads until the other end closes. */
static inline void raw_drain(int fd)
{
	struct frame frame;

	while (raw_read_frame(fd, &frame, NULL, 0))
		;
	close(fd);
}

#endif

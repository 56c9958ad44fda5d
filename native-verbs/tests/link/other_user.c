/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a secret a process of another user is refused whatever it sends: a whole handshake, and an open of
 * a queue pair, sent ahead of the refusal change nothing.
 */
#include "raw_link.h"
#include "softdev_fixture.h"
#include "queue/wire.h"
#include "users.h"

enum { OWN_QPN = 0x123456, ATTEMPTS = 50 };

static void add(uint8_t *text, size_t *used, const struct frame *frame, const void *payload)
{
	memcpy(text + *used, frame, sizeof(*frame));
	memcpy(text + *used + sizeof(*frame), payload, frame->length);
	*used += sizeof(*frame) + frame->length;
}

static size_t whole_handshake(uint8_t *text, uint32_t destination_qpn)
{
	static const struct link_proof proof;
	struct link_hello hello = raw_link_hello(LINK_KIND_QP);
	struct qp_open open = {.source_qpn = OWN_QPN, .destination_qpn = destination_qpn};
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	size_t used = 0;

	add(text, &used, &frame, &hello);
	frame = (struct frame){.op = FRAME_PROOF, .length = sizeof(proof)};
	add(text, &used, &frame, &proof);
	frame = (struct frame){.op = WIRE_QP_OPEN, .length = sizeof(open)};
	add(text, &used, &frame, &open);
	return used;
}

static void intrude(int fd)
{
	struct frame refusal;
	uint32_t destination_qpn;
	uint8_t text[1024];
	size_t length;

	become_user(NOBODY);
	test_receive(fd, &destination_qpn, sizeof(destination_qpn));
	length = whole_handshake(text, destination_qpn);
	for (int i = 0; i < ATTEMPTS; i++) {
		int link = raw_link_connect(destination_qpn >> 8);
		uint8_t more;

		/* The refusal may be quicker. */
		CHECK(send(link, text, length, MSG_NOSIGNAL) == (ssize_t)length || errno == EPIPE);
		CHECK_EQUAL(recv(link, &refusal, sizeof(refusal), MSG_WAITALL), sizeof(refusal));
		CHECK_EQUAL(refusal.op, FRAME_REFUSED);
		CHECK_EQUAL(refusal.status, EACCES);
		CHECK(recv(link, &more, 1, 0) <= 0);
		close(link);
	}
}

int main(void)
{
	struct test_peer peer;
	struct address remote;
	struct side side;

	need_root();
	peer = test_start_peer(intrude);
	open_side(&side, 16, 16);
	remote = address_of(&side);
	remote.qpn = OWN_QPN;
	connect_side(&side, &remote, NULL);
	test_send(peer.fd, &side.qp->qp_num, sizeof(side.qp->qp_num));
	test_join_peer(&peer);
	close_side(&side);
	check_no_leaks();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whoever connects, or is connected to, sends whatever it likes instead of a handshake; after a good one it goes on
 * with first frames. With FUZZ_SECRET there is a secret, and TCP. An owner hears of the end of its link once and of
 * nothing before the link is open; no descriptor that came along stays.
 *
 * First control byte: 1 we connect, 2 in pieces, 4 TCP, 8 a MAC is taken for right, 16 descriptors come with the
 * first bytes, 32 the peer hangs up first; second: the kind of link to connect.
 */
#define _GNU_SOURCE
#include "harness.h"

#include "core.h"
#include "link/link_internal.h"
#include "link/ports.h"
#include "process/sha256.h"
#include "queue/wire.h"

#include "cm/cm_wire.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT = 1, IN_PIECES = 2, TCP = 4, RIGHT_MAC = 8, DESCRIPTORS = 16, HANG_UP = 32 };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union ibv_gid own_gid;
static int listener, file_fd;

static struct owner {
	struct link *link; /* while it is not closed */
	bool open;
} owner;

static void on_open(struct link *link, void *argument)
{
	FUZZ_CHECK(argument == &owner && link == owner.link && !owner.open);
	owner.open = true;
}

static void on_frame(struct link *link, void *argument, const struct frame *frame, const void *payload, const int *fds,
		     int fd_count)
{
	FUZZ_CHECK(argument == &owner && link == owner.link && owner.open);
	FUZZ_CHECK(frame->op >= FRAME_OP_USER && frame->length <= LINK_MAX_BUFFERED && payload);
	FUZZ_CHECK(fd_count <= LINK_MAX_FDS);
	link_close_fds(fds, fd_count);
}

static void on_close(struct link *link, void *argument, int error)
{
	(void)error;
	FUZZ_CHECK(argument == &owner && link == owner.link);
	owner.link = NULL;
}

static const struct link_ops owner_ops = {.on_open = on_open, .on_frame = on_frame, .on_close = on_close};

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	if (getenv("FUZZ_SECRET"))
		setenv("SOFTVERBS_SECRET", "a secret of the fuzzer", 1);
	fuzz_seeds_if_asked();
	FUZZ_CHECK(process_port_at(0) > 0);
	FUZZ_CHECK(!gid_table_entry(0, &own_gid, NULL));
	fuzz_network.own = own_gid;
	fuzz_network.peer = (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 9}};
	file_fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(file_fd >= 0);
	listener = fuzz_listen();
	fuzz_settle();
	return 0;
}

static int connect_out(bool tcp, enum link_kind kind)
{
	owner = (struct owner){0};
	fuzz_network.connected_fd = -1;
	owner.link = link_connect(&own_gid, tcp ? &fuzz_network.peer : &own_gid, fuzz_peer_port(), kind, &owner_ops, &owner);
	FUZZ_CHECK(owner.link);
	fuzz_settle();
	return tcp ? fuzz_network.connected_fd : fuzz_accept(listener);
}

static int connect_in(bool tcp)
{
	int fds[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	if (tcp)
		link_accept_tcp(fds[0], FUZZ_PORT);
	else
		link_accept_unix(fds[0], 0);
	return fds[1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool tcp, connects;
	uint8_t control;
	int fd;

	if (size <= FUZZ_CONTROL_BYTES || size > FUZZ_MAX_INPUT)
		return 0;
	control = data[0];
	tcp = control & TCP && getenv("FUZZ_SECRET");
	connects = control & CONNECT;
	fuzz_begin();
	fuzz_network.right_mac = control & RIGHT_MAC;
	fd = connects ? connect_out(tcp, data[1] & 1 ? LINK_KIND_QP : LINK_KIND_CM) : connect_in(tcp);
	FUZZ_CHECK(fd >= 0);
	data += FUZZ_CONTROL_BYTES;
	size -= FUZZ_CONTROL_BYTES;
	if (control & DESCRIPTORS) {
		/* One more than a frame may have, among them the sender's own end: its death must still be seen. */
		const int three[] = {fd, file_fd, file_fd};
		size_t sent = fuzz_send_descriptors(fd, data, size < 7 ? size : 7, three, 3);

		data += sent;
		size -= sent;
	}
	fuzz_send(fd, data, size, control & IN_PIECES);
	if (connects && !(control & HANG_UP) && owner.link) {
		link_close(owner.link);
		owner.link = NULL;
	}
	close(fd);
	fuzz_settle();
	if (connects)
		FUZZ_CHECK(!owner.link);
	fuzz_end();
	return 0;
}

static void add_hello(struct fuzz_stream *stream, uint8_t op, uint16_t kind)
{
	struct link_hello hello = {.magic = LINK_MAGIC, .version = LINK_VERSION, .kind = kind};

	fuzz_add_frame(stream, (struct frame){.op = op, .length = sizeof(hello)}, &hello);
}

static void add_first_frame(struct fuzz_stream *stream, uint16_t kind)
{
	struct qp_open open = {0};
	struct cm_request request = {.version = CM_WIRE_VERSION};

	if (kind == LINK_KIND_QP)
		fuzz_add_frame(stream, (struct frame){.op = WIRE_QP_OPEN, .length = sizeof(open)}, &open);
	else
		fuzz_add_frame(stream, (struct frame){.op = CM_FRAME_REQUEST, .length = sizeof(request)}, &request);
}

void fuzz_write_seeds(void)
{
	struct fuzz_stream stream;
	struct link_proof proof = {.mac = {0}};
	char name[32];

	memcpy(proof.key_id, secret_own_id(), sizeof(proof.key_id));
	for (uint8_t control = 0; control < 64; control++) {
		uint16_t kind = control & IN_PIECES ? LINK_KIND_QP : LINK_KIND_CM;

		stream = fuzz_stream(control, kind);
		if (control & CONNECT) {
			add_hello(&stream, FRAME_CHALLENGE, 0);
			fuzz_add_frame(&stream, (struct frame){.op = FRAME_WELCOME, .length = SHA256_BYTES}, NULL);
		} else {
			add_hello(&stream, FRAME_HELLO, kind);
			fuzz_add_frame(&stream, (struct frame){.op = FRAME_PROOF, .length = sizeof(proof)}, &proof);
		}
		add_first_frame(&stream, kind);
		snprintf(name, sizeof(name), "handshake-%u", control);
		fuzz_seed(name, stream.bytes, stream.length);
	}
	stream = fuzz_stream(CONNECT, LINK_KIND_QP);
	fuzz_add_frame(&stream, (struct frame){.op = FRAME_REFUSED, .status = 13}, NULL);
	fuzz_seed("refused", stream.bytes, stream.length);
	stream = fuzz_stream(0, 0);
	add_hello(&stream, FRAME_HELLO, 7);
	fuzz_seed("unknown_kind", stream.bytes, stream.length);
}

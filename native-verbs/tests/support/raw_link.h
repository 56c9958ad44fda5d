/* SPDX-License-Identifier: Apache-2.0 */
/* The client end of a link without the device: for tests that send what the device never would. */
#ifndef SHUFFLE_RDMA_RAW_LINK_H
#define SHUFFLE_RDMA_RAW_LINK_H

#include <stddef.h>
#include <sys/un.h>

#include "link/link.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "process/sha256.h"
#include "test.h"

/* The name of the abstract socket that a process listens on for `port`. */
static inline socklen_t raw_name(uint16_t port, struct sockaddr_un *name)
{
	int used;

	*name = (struct sockaddr_un){.sun_family = AF_UNIX};
	used = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "softverbs.%u", port);
	return offsetof(struct sockaddr_un, sun_path) + 1 + used;
}

static inline int raw_link_connect(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK(!connect(fd, (struct sockaddr *)&name, length));
	return fd;
}

static inline struct link_hello raw_link_hello(enum link_kind kind)
{
	return (struct link_hello){.magic = LINK_MAGIC, .version = LINK_VERSION, .kind = (uint16_t)kind};
}

/*
 * The handshake as link_handshake.c makes it, up to the proof; without a secret the MACs are zeros. `write_frame` sends a
 * header and its payload.
 */
static inline void raw_link_prove(int fd, enum link_kind kind,
				  bool (*write_frame)(int fd, const struct frame *frame, const void *payload))
{
	struct link_hello hello = raw_link_hello(kind);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	static const struct link_proof proof;
	uint8_t challenge[sizeof(frame) + sizeof(hello)];

	CHECK(write_frame(fd, &frame, &hello));
	CHECK_EQUAL(recv(fd, challenge, sizeof(challenge), MSG_WAITALL), sizeof(challenge));
	frame = (struct frame){.op = FRAME_PROOF, .length = sizeof(proof)};
	CHECK(write_frame(fd, &frame, &proof));
}

/* All of it. */
static inline void raw_link_shake_hands(int fd, enum link_kind kind,
					bool (*write_frame)(int fd, const struct frame *frame,
							    const void *payload))
{
	uint8_t welcome[sizeof(struct frame) + SHA256_BYTES];

	raw_link_prove(fd, kind, write_frame);
	CHECK_EQUAL(recv(fd, welcome, sizeof(welcome), MSG_WAITALL), sizeof(welcome));
}

#endif

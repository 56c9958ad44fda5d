/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. An input is two control bytes, which choose what the target does, and then what the peer
 * sends. Keys in it, also as immediate data, are symbolic (FUZZ_KEY + n is the rkey of region n), so that inputs outlive changes of the engine.
 */
#ifndef SHUFFLE_RDMA_FUZZ_HARNESS_H
#define SHUFFLE_RDMA_FUZZ_HARNESS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/link.h"

enum {
	FUZZ_CONTROL_BYTES = 2,
	FUZZ_MAX_INPUT = 8192,
	FUZZ_REGION_BYTES = 4096,
	FUZZ_REGION_IOVA = 0x10000, /* of region 0; the next ones follow at the same distance */
	FUZZ_PORT = 17,		    /* of the peer that the target plays; the port of no process */
};

#define FUZZ_KEY 0xfeed0000u

enum fuzz_region { FUZZ_SINK, FUZZ_OPEN, FUZZ_READ_ONLY, FUZZ_REGIONS };

/* After those of the regions: the keys of a window and of a file, if the target has them. */
enum { FUZZ_WINDOW = FUZZ_REGIONS, FUZZ_FILE, FUZZ_KEYS };

/* A check that stays in: an input that breaks it is a finding. */
#define FUZZ_CHECK(condition)                                             \
	do {                                                              \
		if (!(condition))                                         \
			fuzz_fail(__FILE__, __LINE__, #condition);        \
	} while (0)

_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* fuzz_progress.c: runs tasks, due timers and sockets until nothing is left to do. */
void fuzz_settle(void);
void fuzz_pass_time(uint64_t ns);

/* The device, a PD and the regions, each between canaries. */
struct fuzz_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr[FUZZ_REGIONS];
	uint32_t keys[FUZZ_KEYS];
};

void fuzz_open_device(struct fuzz_device *device);
/* Takes the region away, and gives it back under new keys. */
void fuzz_deregister(struct fuzz_device *device, enum fuzz_region region);
void fuzz_register(struct fuzz_device *device, enum fuzz_region region);
uint8_t *fuzz_region_bytes(enum fuzz_region region);
/* Nothing outside the regions changed, nor inside the one that nobody may write. */
void fuzz_check_memory(void);
/* Takes and acknowledges all async events. */
void fuzz_drain_events(struct ibv_context *context);

/* Before and after an input: no descriptor may be left open. */
void fuzz_begin(void);
void fuzz_end(void);

uint32_t fuzz_resolve_key(uint32_t key, const struct fuzz_device *device);
/* Keys of the frames in a stream made real; `visit`, if any, may change more of them. */
void fuzz_resolve_frames(uint8_t *bytes, size_t length, const struct fuzz_device *device,
			 void (*visit)(struct frame *frame, uint8_t *payload, size_t payload_bytes));
/* Sends, whole or in pieces with the progress thread at work between them; what comes back is thrown away. */
void fuzz_send(int fd, const uint8_t *bytes, size_t length, bool in_pieces);
/* The same, and takes what came for the peer on that descriptor. */
void fuzz_settle_with(int fd);

/* Sends so much with descriptors attached; how much that was. */
size_t fuzz_send_descriptors(int fd, const uint8_t *bytes, size_t length, const int *fds, int count);

/* The handshake of the connecting end, as sent; and of the accepting end, in the name of that process. */
void fuzz_send_client_handshake(int fd, enum link_kind kind);
void fuzz_send_server_handshake(int fd, const uint8_t nonce[LINK_NONCE_BYTES]);
extern const uint8_t fuzz_peer_nonce[LINK_NONCE_BYTES];
/* A listener that stands for the process at FUZZ_PORT; and the connection that has come, or -1. */
int fuzz_listen(void);
uint16_t fuzz_peer_port(void);
int fuzz_accept(int listener);

/* network.c: TCP between us and the peer that the target plays. */
extern struct fuzz_network {
	union ibv_gid own, peer;
	bool right_mac;	  /* every MAC is taken for right */
	int connected_fd; /* the peer's end of the latest connection that was made to it */
} fuzz_network;

/* Of the target: its seeds, each given to fuzz_seed(). */
void fuzz_write_seeds(void);
void fuzz_seed(const char *name, const void *bytes, size_t length);
/* If FUZZ_SEEDS names a folder: writes them there and ends the process. Called by LLVMFuzzerInitialize. */
void fuzz_seeds_if_asked(void);

/* A stream of frames in the making. */
struct fuzz_stream {
	uint8_t bytes[FUZZ_MAX_INPUT];
	size_t length;
};

struct fuzz_stream fuzz_stream(uint8_t first_control, uint8_t second_control);
void fuzz_add(struct fuzz_stream *stream, const void *bytes, size_t length);
void fuzz_add_frame(struct fuzz_stream *stream, struct frame frame, const void *payload);

#endif

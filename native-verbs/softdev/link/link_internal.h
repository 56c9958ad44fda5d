/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a link share. Progress thread only. */
#ifndef SOFTDEV_LINK_INTERNAL_H
#define SOFTDEV_LINK_INTERNAL_H

#include "link/link.h"
#include "link/link_fault.h"
#include "link/strangers.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/sha256.h"

#include <infiniband/verbs.h>

#define LINK_MAGIC 0x314c5653u /* "SVL1" */

enum { LINK_VERSION = 4 };

/* The payload of HELLO and CHALLENGE. */
struct link_hello {
	uint32_t magic;
	uint16_t version;
	uint16_t kind; /* 0 in CHALLENGE */
	uint8_t nonce[LINK_NONCE_BYTES];
	uint8_t challenge[LINK_NONCE_BYTES];
};

/* The payload of PROOF. */
struct link_proof {
	uint8_t key_id[SECRET_ID_BYTES]; /* names the secret */
	uint8_t mac[SHA256_BYTES];
};

enum frame_op { FRAME_HELLO = 1, FRAME_CHALLENGE, FRAME_PROOF, FRAME_REFUSED, FRAME_WELCOME };

/* LINK_CONNECTING occurs over TCP only, until the socket is writable. */
enum link_state { LINK_CONNECTING, LINK_EXPECT_HELLO, LINK_EXPECT_CHALLENGE, LINK_EXPECT_PROOF,
		  LINK_EXPECT_WELCOME, LINK_OPEN, LINK_CLOSED };

struct link {
	struct progress_watch watch;
	struct progress_timer deadline; /* for the handshake and the first frame, later for the flush before closing */
	struct progress_task failure;   /* reports `error` after the function that found it has returned */
	struct progress_task more;	/* goes on with `ahead`, of which no event of the socket tells */
	enum link_state state;
	enum link_kind kind;
	const struct link_ops *ops;
	void *owner;
	int error; /* the link has failed and only reports that */
	int dispatching; /* depth of link_begin(); a closed link is freed when it returns to 0 */
	bool paused, closing_after_flush, accepted;
	bool receiving; /* within link_receive() */
	bool in_drained, out_full; /* the last call moved less than asked, so another one would move nothing */
	bool has_low_water;
	bool stalled; /* a stream returned -LINK_STALL: no more output */
	bool lingering; /* TCP: all output is written; closing with unread input would discard it */
	struct stranger stranger; /* from the accept to the proof */
	uint32_t watched_events;
	struct link_fault fault;

	struct link_peer peer;
	uint64_t acked; /* TCP: acknowledged bytes at the last link_taken_ago_ns() */
	int times_to_tune; /* TCP: how often a full socket may still ask whether the path is short */
	union ibv_gid own_gid; /* TCP: the address of this end */
	uint16_t tcp_port;		 /* port of the accepting end */
	uint8_t own_challenge[LINK_NONCE_BYTES], peer_challenge[LINK_NONCE_BYTES];

	unsigned int waiting;	    /* frames in both queues */
	unsigned int waiting_fds;   /* descriptors in those frames */
	struct list out, held; /* held: the owner's frames, until the handshake is done */

	struct frame in;
	size_t in_header_bytes;
	uint64_t in_offset;
	bool in_streaming, in_discarding;
	bool in_long; /* the last payload was long, and so may be the next */
	int in_fds[LINK_MAX_FDS], in_fd_count;
	bool never_ahead;    /* TCP: the copy to the application's memory does not work */
	bool socket_drained; /* TCP: the last receive found less than it had room for */
	struct link_ahead *ahead; /* TCP: input that was received before it was asked for; NULL before the first */
	_Alignas(uint64_t) uint8_t in_buffer[LINK_MAX_BUFFERED];
};

/* Returns NULL if memory is short. */
struct link *link_new(int fd, enum link_state state);
void link_start_handshake_clock(struct link *link);
/* Reads the credentials of a unix peer. Returns 0 or the errno with which to refuse it. */
int link_learn_peer(struct link *link);
/* link_connect.c: called when the TCP connection is established or has failed. */
void link_on_connected(struct link *link);

/* A description of the peer for log messages. */
struct link_name {
	char text[96];
};
struct link_name link_peer_name(const struct link *link);

/* link_accept.c */
/* Refuses the peer: tells it the errno and closes the link. */
void link_refuse(struct link *link, int error);
void link_accept_unix(int fd, uint16_t port);
void link_accept_tcp(int fd, uint16_t port);

/* Closes the link and tells its owner, if it has one. */
void link_fail(struct link *link, int error);
/*
 * As link_fail(), but later on the progress thread, for callers that do not expect the link to end. The caller may hold
 * any lock.
 */
void link_fail_soon(struct link *link, int error);
/* Sends a frame ahead of those that wait for the handshake. */
int link_send_now(struct link *link, const struct frame *frame, const void *payload);
/* Ends the handshake and releases the held frames. */
void link_opened(struct link *link);

enum { LINK_BYTES_PER_TURN = 4 << 20, LINK_STEPS_PER_TURN = 4096 }; /* per event, before other links get their turn */

/* The epoll callback. */
void link_on_events(void *link, uint32_t events);
/* Asks epoll for the events that the link can use now. */
void link_update_events(struct link *link);

/* link_output.c. link_flush_output() writes until the socket is full or the turn is over; it may close the link. */
void link_drop_output(struct link *link);
/* Drops the first frame that has a stream and all frames behind it, because the owner of the stream goes away. */
void link_drop_streams(struct link *link);
void link_flush_output(struct link *link);

/* link_input.c. Returns true if there is input that the socket does not have any more. */
bool link_has_ahead(const struct link *link);
/* Reads and discards input; closes the link at the end of the stream. */
void link_discard_input(struct link *link);
/* Reads one step. Returns the number of bytes moved (0 = progress without bytes) or -errno; may close the link. */
ssize_t link_read_some(struct link *link);

enum { LINK_TIMES_TO_TUNE = 16 };

/* Return 0 or the errno with which to fail. */
int handshake_start(struct link *link);
int handshake_on_frame(struct link *link, const struct frame *frame, const void *payload);

#endif

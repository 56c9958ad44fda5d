/* SPDX-License-Identifier: Apache-2.0 */
/* What link.c (the stream), link_handshake.c and link_listen.c share. Progress thread only. */
#ifndef SOFTDEV_LINK_INTERNAL_H
#define SOFTDEV_LINK_INTERNAL_H

#include "link/link.h"
#include "link/link_fault.h"
#include "process/progress.h"

#include <infiniband/verbs.h>

enum frame_op { FRAME_HELLO = 1, FRAME_CHALLENGE, FRAME_PROOF, FRAME_REFUSED, FRAME_WELCOME };

/* CONNECTING: TCP only, until the socket is writable. */
enum link_state { LINK_CONNECTING, LINK_EXPECT_HELLO, LINK_EXPECT_CHALLENGE, LINK_EXPECT_PROOF,
		  LINK_EXPECT_WELCOME, LINK_OPEN, LINK_CLOSED };

struct out_item;
struct out_queue {
	struct out_item *first, **last;
};

struct link {
	struct progress_watch watch;
	struct progress_timer deadline; /* of the handshake and a first frame, later of a flush before closing */
	struct progress_task failure;   /* reports `error` after the call that found it has returned */
	enum link_state state;
	enum link_kind kind;
	const struct link_ops *ops;
	void *owner;
	int error; /* it cannot go on: nothing happens any more but the report */
	int dispatching; /* > 0: a callback runs, freeing waits for it */
	bool paused, closing_after_flush, accepted;
	bool in_drained, out_full; /* the last call moved less than was asked for: the next would move nothing */
	bool has_low_water;
	bool stalled; /* a stream cannot go on: no more output */
	bool lingering; /* TCP: all is written, but to close with input unread would take it back */
	struct link *previous_stranger, *next_stranger; /* accepted and not authenticated yet */
	uint32_t watched_events;
	struct link_fault fault;

	struct link_local *local; /* in place of a socket, to another end in this process; NULL: there is a socket */
	bool is_tcp;
	uint64_t acked; /* TCP: bytes, when link_taken_ago_ns() looked last */
	int times_to_tune; /* TCP: until the path is known to be short, when the socket is full */
	pid_t peer_pid; /* TCP knows no credentials: 0 */
	uid_t peer_uid; /* TCP: nobody's, (uid_t)-1 */
	bool of_own_user; /* certainly, as the kernel says */
	union ibv_gid own_gid, peer_gid; /* TCP: the addresses of the connection */
	uint16_t tcp_port;		 /* of the accepting end */
	uint8_t peer_nonce[LINK_NONCE_BYTES];
	uint8_t own_challenge[LINK_NONCE_BYTES], peer_challenge[LINK_NONCE_BYTES];

	unsigned int waiting;	    /* frames in the two queues */
	unsigned int waiting_fds;   /* descriptors in them */
	struct out_queue out, held; /* held: frames of the owner until the handshake is done */

	struct frame in;
	size_t in_header_bytes;
	uint64_t in_offset;
	bool in_streaming, in_discarding;
	int in_fds[LINK_MAX_FDS], in_fd_count;
	uint8_t in_buffer[LINK_MAX_BUFFERED];
};

/* NULL = out of memory. */
struct link *link_new(int fd, enum link_state state);
void link_start_handshake_clock(struct link *link);
/* Reads the credentials of a unix peer. 0 or the errno to refuse it with. */
int link_learn_peer(struct link *link);
/* link_connect.c: the TCP connection is made, or not. */
void link_on_connected(struct link *link);

/* The peer in a message. */
struct link_name {
	char text[96];
};
struct link_name link_peer_name(const struct link *link);

/* link_accept.c */
void link_accept_unix(int fd);
void link_accept_local(struct link *link);
void link_accept_tcp(int fd, uint16_t port);
/* The link is authenticated, or gone: it no longer counts as a stranger. */
void link_stop_being_a_stranger(struct link *link);

/* Closes the link and tells the owner, if it has one. */
void link_fail(struct link *link, int error);
/* Likewise, but soon, where the caller does not expect the link to go. Any lock held. */
void link_fail_soon(struct link *link, int error);
/* Sends ahead of the frames that wait for the handshake. */
int link_send_now(struct link *link, const struct frame *frame, const void *payload);
/* The handshake is done: lets the held frames go. */
void link_opened(struct link *link);

enum { LINK_BYTES_PER_TURN = 4 << 20, LINK_STEPS_PER_TURN = 4096 }; /* then the other links get theirs */

/* For epoll: something can be done. */
void link_on_events(void *link, uint32_t events);
/* Asks epoll for what the link can use now. */
void link_update_events(struct link *link);

/* link_output.c. flush: writes until the socket is full, or a turn is over; may close the link. */
void link_init_output(struct link *link);
void link_drop_output(struct link *link);
/* Drops the first frame with a stream and what follows it: its owner goes away. */
void link_drop_streams(struct link *link);
void link_flush_output(struct link *link);

/* link_input.c. Reads and forgets; closes at the end of the stream. */
void link_discard_input(struct link *link);
/* One step; bytes moved (0 = progress without bytes), or -errno; may close the link. */
ssize_t link_read_some(struct link *link);

enum { LINK_TIMES_TO_TUNE = 16 };

/* 0, or the errno to fail with. */
int handshake_start(struct link *link);
int handshake_on_frame(struct link *link, const struct frame *frame, const void *payload);
/* The uid rule alone, before anything is read from the peer. */
int handshake_check_uid(const struct link *link);

#endif

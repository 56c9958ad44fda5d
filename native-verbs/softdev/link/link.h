/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link: one connected, authenticated stream to a peer process, or within this one, made of frames. All functions
 * run on the progress thread only (see progress_call) and so do all callbacks.
 *
 * Handshake, before the first callback: HELLO -> CHALLENGE -> PROOF -> WELCOME. It checks the protocol version,
 * the uid of the peer (SO_PEERCRED, both ends, unix only) and, when a secret is set, an HMAC in both directions.
 * The connecting end may send as soon as link_connect() has returned; frames wait for the handshake.
 */
#ifndef SOFTDEV_LINK_H
#define SOFTDEV_LINK_H

#include "core.h"

#include <infiniband/verbs.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum link_kind { LINK_KIND_QP = 1, LINK_KIND_CM = 2, LINK_KINDS };

enum { LINK_NONCE_BYTES = PROCESS_NONCE_BYTES, LINK_MAX_FDS = 2, LINK_MAX_BUFFERED = 4096 };

/*
 * Every frame begins with this header, little endian (the device runs on little-endian hosts only).
 * `op` below FRAME_OP_USER belongs to the link itself; the kinds number theirs from there on.
 */
struct frame {
	uint8_t op;
	uint8_t flags;
	uint16_t status;
	uint32_t seq;
	uint32_t length; /* of the payload that follows */
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t imm;
	uint32_t total;
	uint64_t arg;
};

enum { FRAME_OP_USER = 16 };

struct link;

/* What the owner of a link implements. A callback may close the link. */
struct link_ops {
	/* The handshake is done (connecting end only). May be NULL. */
	void (*on_open)(struct link *link, void *owner);
	/* A whole frame; `payload` is valid during the call. The callee owns (must close) the fds. */
	void (*on_frame)(struct link *link, void *owner, const struct frame *frame, const void *payload,
			 const int *fds, int fd_count);
	/*
	 * The link is gone: 0 = the peer closed it or died, otherwise an errno: ECONNREFUSED (nobody listens
	 * on that port), EACCES (uid or secret), EPROTO, ... Called once, never after link_close().
	 */
	void (*on_close)(struct link *link, void *owner, int error);
	/*
	 * For frames that are not to be buffered (NULL = buffer all; a longer payload than LINK_MAX_BUFFERED
	 * is then a protocol error). Returns true when it takes the payload of this frame as a stream:
	 * then sink() is asked for room until `length` bytes are through, then on_frame() comes with payload NULL.
	 */
	bool (*on_header)(struct link *link, void *owner, const struct frame *frame);
	/* Fills iov with room for payload bytes from `offset` on; 0 iovs = discard the rest of it. */
	int (*sink)(struct link *link, void *owner, uint64_t offset, struct iovec *iov, int max_iov);
	/* After each receive into the room of sink(): bytes >= 0 moved, or -errno (EFAULT: discard the rest). */
	void (*sunk)(struct link *link, void *owner, ssize_t bytes);
	/* The number of the queue pair that owns it; NULL = no such owner. */
	uint32_t (*qp_number)(const void *owner);
};

/*
 * Connects to the process that listens on `port` of the host with the GID `destination`: by a unix socket if that is
 * this network namespace, without one if it is a port of this process, else by TCP from the address of `source`. Never NULL but for ENOMEM; failures arrive by
 * on_close, never before it returns.
 */
struct link *link_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port,
			  enum link_kind kind, const struct link_ops *ops, void *owner);

/* False, after a message, if that is another host and there is no secret to prove. */
bool link_may_reach(const union ibv_gid *destination);

/* Closes descriptors that came with a frame, for a callee that has no use for them. */
static inline void link_close_fds(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* Hands the link to another owner; for the callee of link_incoming. */
void link_set_owner(struct link *link, const struct link_ops *ops, void *owner);

/*
 * Queues a frame; copies payload (`frame->length` bytes) and duplicates the descriptors. 0 or -errno: -EPIPE of a link that is
 * closed; -ENOMEM, and the link fails soon; that of a descriptor that cannot be duplicated, and the link goes on without the frame.
 */
int link_send(struct link *link, const struct frame *frame, const void *payload, const int *fds,
	      int fd_count);

/*
 * A payload that is fetched while it is written, embedded in its owner: frame->length bytes. source() returns
 * the number of iovs; after each comes one sourced() with the bytes moved (0 = the socket is full) or -errno.
 * 0 from source(), or an error that sourced() lets pass with 0: the rest is sent as zeros and done() says false.
 * -LINK_STALL from either: nothing is sent any more, only received, until the owner closes the link.
 * Another -errno: the link fails with it. No callback after link_close().
 */
#define LINK_STALL EINPROGRESS

struct link_stream {
	int (*source)(struct link_stream *stream, uint64_t offset, struct iovec *iov, int max_iov);
	int (*sourced)(struct link_stream *stream, ssize_t bytes);
	void (*done)(struct link_stream *stream, bool complete);
};

int link_send_stream(struct link *link, const struct frame *frame, struct link_stream *stream);

/*
 * Around several calls for one link, which may close it: it is freed, and its socket's events are asked for, at the
 * outermost end. Callbacks run within such a pair.
 */
void link_begin(struct link *link);
void link_end(struct link *link);

/* Returns how many frames are queued and not written to their end. */
unsigned int link_frames_waiting(const struct link *link);
/* Is the last of those one of this kind? Then the peer has not read it. Of an open link. */
bool link_ends_with(const struct link *link, uint8_t op);

/* Writes the queued frames, as far as the socket takes them. May call on_close. */
void link_flush(struct link *link);

/* Reads what has arrived, without waiting for its turn. Any callback may come. Not to be called from a callback of this link. */
void link_receive(struct link *link);

/* While paused no further frame is read. */
void link_pause(struct link *link, bool paused);

/* Closes at once, dropping what is queued, or after it is written (bounded wait). No callback follows. */
void link_close(struct link *link);
void link_close_after_flush(struct link *link);

/* How long ago the peer's host took some of what was sent, if it did since the last call; else UINT64_MAX, as on unix. */
uint64_t link_taken_ago_ns(struct link *link);

/* Over TCP: a peer of which the kernel says nothing, no pid, no uid, no descriptors. */
bool link_is_tcp(const struct link *link);
/* May what comes on this link be from the host with that GID? TCP tells the address, unix only that it is one of ours. */
bool link_is_from(const struct link *link, const uint8_t *gid);
/* The address that a TCP peer has; zeros for any other. */
const union ibv_gid *link_peer_gid(const struct link *link);
/* The interface behind which that address is, if it is a link-local one; else 0. */
uint32_t link_peer_scope(const struct link *link);
pid_t link_peer_pid(const struct link *link);
uid_t link_peer_uid(const struct link *link);
/* Tells whether the peer certainly runs as the same user as this process. */
bool link_is_of_own_user(const struct link *link);
/* The boot nonce of the peer process, LINK_NONCE_BYTES. */
const uint8_t *link_peer_nonce(const struct link *link);

/*
 * Incoming links of each kind, after the handshake; parts.c names the callees. The callee calls link_set_owner() or
 * link_close(); the link fails with ETIMEDOUT when no frame follows in time.
 */
extern void (*const link_incoming[LINK_KINDS])(struct link *link);

#endif

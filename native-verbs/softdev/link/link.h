/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A link is one connected, authenticated stream of frames to a peer process, or between two objects of this process.
 * All functions and all callbacks run on the progress thread (see progress_call).
 *
 * Before the first callback the ends shake hands: HELLO -> CHALLENGE -> PROOF -> WELCOME. The handshake checks the
 * protocol version, the uid of the peer (SO_PEERCRED, at both ends, unix sockets only) and, if a secret is set, an HMAC
 * in both directions. The connecting end may send as soon as link_connect() has returned; its frames wait for the
 * handshake.
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

enum { LINK_NONCE_BYTES = PROCESS_NONCE_BYTES, LINK_MAX_FDS = 64, LINK_MAX_BUFFERED = 4096 };

/*
 * The header of every frame, little endian (the device runs on little-endian hosts only). Values of `op` below
 * FRAME_OP_USER belong to the link itself; each kind of link numbers its own from there.
 */
struct frame {
	uint8_t op;
	uint8_t flags;
	uint16_t status;
	uint32_t seq;
	uint32_t length; /* bytes of payload that follow */
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t imm;
	uint32_t total;
	uint64_t arg;
};

enum { FRAME_OP_USER = 16 };

struct link;

/* The callbacks of a link's owner. A callback may close the link. */
struct link_ops {
	/* The handshake is done; called at the connecting end only. May be NULL. */
	void (*on_open)(struct link *link, void *owner);
	/*
	 * A whole frame has arrived. `payload` is valid during the call; the callee owns the fds and must close them.
	 */
	void (*on_frame)(struct link *link, void *owner, const struct frame *frame, const void *payload,
			 const int *fds, int fd_count);
	/*
	 * The link has ended. `error` is 0 if the peer closed it or died, otherwise an errno such as ECONNREFUSED
	 * (nobody listens on the port), EACCES (wrong uid or secret) or EPROTO. Called once, and never after
	 * link_close(). May be NULL.
	 */
	void (*on_close)(struct link *link, void *owner, int error);
	/*
	 * Called for each header; returns true to take the payload of the frame as a stream. Then sink() is asked for
	 * room until all `length` bytes have arrived, and on_frame() follows with payload NULL. A payload that is not
	 * taken is buffered, and one longer than LINK_MAX_BUFFERED is a protocol error. NULL buffers every frame.
	 */
	bool (*on_header)(struct link *link, void *owner, const struct frame *frame);
	/*
	 * Fills `iov` with room for the payload bytes from `offset` on and returns the number of iovs; 0 discards the
	 * rest.
	 */
	int (*sink)(struct link *link, void *owner, uint64_t offset, struct iovec *iov, int max_iov);
	/*
	 * Follows each receive into the room that sink() gave: the number of bytes moved, or -errno. After -EFAULT the
	 * rest of the payload is discarded.
	 */
	void (*sunk)(struct link *link, void *owner, ssize_t bytes);
	/* Returns the number of the queue pair that owns the link; NULL if the owner is no queue pair. */
	uint32_t (*qp_number)(const void *owner);
};

/*
 * Connects to the process that listens on `port` of the host with the GID `destination`: in this network namespace over a
 * unix socket, otherwise over TCP from the address `source`. NULL means ENOMEM; every other failure arrives by on_close(),
 * never before this function returns.
 */
struct link *link_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port,
			  enum link_kind kind, const struct link_ops *ops, void *owner);

/* Returns false and logs why, if the destination is another host and no secret is set. */
bool link_may_reach(const union ibv_gid *destination);

/* Closes the descriptors of a frame; for a callee that does not need them. */
static inline void link_close_fds(const int *fds, int count)
{
	for (int i = 0; i < count; i++)
		close(fds[i]);
}

/* Gives the link to another owner; for the callees of link_incoming. */
void link_set_owner(struct link *link, const struct link_ops *ops, void *owner);

/*
 * Queues a frame: copies the payload (`frame->length` bytes) and takes over the descriptors. If the kernel does not let
 * descriptors go (ETOOMANYREFS), the frame goes without them. Returns 0; -EPIPE if the link is closed; or -ENOMEM, after
 * which the link fails soon.
 */
int link_send(struct link *link, const struct frame *frame, const void *payload, const int *fds,
	      int fd_count);

/*
 * A payload of frame->length bytes that is fetched while it is written; the struct is embedded in its owner. source()
 * fills iovs and returns their number; each source() is followed by one sourced() with the number of bytes moved (0 =
 * the socket is full) or -errno. If source() returns 0, or sourced() returns 0 for an error, the rest is sent as zeros
 * and done() gets false. If either returns -LINK_STALL, the link sends nothing more and only receives until its owner
 * closes it. Any other -errno fails the link. No callback follows link_close(). If `trailer` is not NULL, that frame,
 * which has no payload, follows a payload that is complete, without a system call of its own; done() comes after it.
 */
#define LINK_STALL EINPROGRESS

struct link_stream {
	int (*source)(struct link_stream *stream, uint64_t offset, struct iovec *iov, int max_iov);
	int (*sourced)(struct link_stream *stream, ssize_t bytes);
	void (*done)(struct link_stream *stream, bool complete);
	const struct frame *trailer;
};

int link_send_stream(struct link *link, const struct frame *frame, struct link_stream *stream);

/*
 * Bracket several calls on a link that one of them may close. The outermost link_end() frees a closed link and updates
 * the events of an open one. Callbacks run within such a pair.
 */
void link_begin(struct link *link);
void link_end(struct link *link);

/* Returns the number of frames that are queued and not completely written. */
unsigned int link_frames_waiting(const struct link *link);
/*
 * Returns true if the last queued frame has this op, so that the peer cannot have read it yet. The link must be open.
 */
bool link_ends_with(const struct link *link, uint8_t op);

/* Writes queued frames until the socket is full. May call on_close. */
void link_flush(struct link *link);
/*
 * As link_flush(), but within a callback it leaves the frames to the last of those that have arrived together, so that
 * the answers to all of them share a system call.
 */
void link_flush_soon(struct link *link);

/*
 * Reads what has arrived without waiting for an event. Any callback may follow, so no callback of this link may call
 * it.
 */
void link_receive(struct link *link);

/* A paused link reads no further frame. */
void link_pause(struct link *link, bool paused);

/*
 * link_close() closes at once and drops what is queued; link_close_after_flush() first writes it, within a bounded
 * time. No callback follows either.
 */
void link_close(struct link *link);
void link_close_after_flush(struct link *link);

/*
 * Returns how many nanoseconds ago the peer's host acknowledged data, if it has acknowledged any since the last call,
 * otherwise UINT64_MAX. Always UINT64_MAX except over TCP.
 */
uint64_t link_taken_ago_ns(struct link *link);

/* What is known about the process at the other end. */
struct link_peer {
	bool is_tcp;		/* over TCP the kernel knows neither pid nor uid, and it passes no descriptors */
	bool is_of_own_user;	/* it certainly runs as the same user as this process */
	pid_t pid;		/* 0 over TCP */
	uid_t uid;		/* (uid_t)-1 over TCP */
	union ibv_gid gid;	/* its address over TCP, otherwise zeros */
	uint8_t nonce[LINK_NONCE_BYTES]; /* its boot nonce */
};

const struct link_peer *link_peer(const struct link *link);
/*
 * Returns true if the peer may be on the host with that GID. TCP identifies the peer's address; any other link only
 * tells that the peer is on this host.
 */
bool link_is_from(const struct link *link, const uint8_t *gid);
/* Returns the interface of a link-local TCP peer; 0 for any other. */
uint32_t link_peer_scope(const struct link *link);

/*
 * The callees for incoming links after the handshake, by kind; parts.c names them. A callee calls link_set_owner() or
 * link_close(). If no frame follows in time, the link fails with ETIMEDOUT.
 */
extern void (*const link_incoming[LINK_KINDS])(struct link *link);

#endif

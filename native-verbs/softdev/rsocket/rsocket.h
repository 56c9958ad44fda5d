/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream sockets over RDMA (rsocket(7)): a connection of rdma_cm whose two ends copy their bytes through registered
 * slots. Every message is one SEND into one receive of the peer, of SLOT_BYTES at most:
 *
 *   without immediate data    bytes of the stream; the sender needs a credit, which is a receive that the peer has posted
 *   with it                   struct rs_control, in the same order: credits that come back, the end of the stream, a mapping
 *
 * Who consumes the bytes of a slot posts it again, and tells so when half of them have come back. Beyond the receives that
 * credits stand for each end posts RS_CONTROLS more, so that a control message never waits for the other application.
 *
 * No thread is needed: an application's call takes in what has come (rs_progress). Of several threads that wait for one
 * socket one sleeps in poll(), the others until it has woken up; so do they while an rpoll() sleeps. As long as one of these
 * has not come back, nobody takes away what makes their descriptors readable. Nobody calls in here with a lock of the device held.
 *
 * A thread that the program cancels ends as it enters a call that may wait, or in its wait, and leaves no lock and no sleeper.
 */
#ifndef SOFTDEV_RSOCKET_H
#define SOFTDEV_RSOCKET_H

#include <rdma/rdma_cma.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
	RS_SLOT_BYTES = 32 << 10,
	RS_SLOTS = 32,	   /* for sending, and as many for receiving */
	RS_CONTROLS = 16,  /* receives for them beyond that, and at most so many under way */
	RS_IOMAPS = 16,	   /* of this end, and of the peer */
	RS_RECEIVES = RS_SLOTS + RS_CONTROLS,
};

enum rs_state { RS_NEW, RS_LISTENING, RS_RESOLVING, RS_CONNECTING, RS_CONNECTED, RS_FAILED };

enum rs_control_type { RS_CREDITS = 1, RS_END, RS_IOMAP, RS_IOUNMAP };

/* Host byte order: both ends are of one kind of machine, as with atomics. */
struct rs_control {
	uint32_t type;
	uint32_t value;				 /* RS_CREDITS: how many; RS_IOMAP: the rkey */
	uint64_t offset, address, length;	 /* RS_IOMAP; RS_IOUNMAP: the offset */
};

/* Private data of both REQ and REP. */
struct rs_hello {
	uint32_t magic;
	uint32_t credits;
	uint32_t slot_bytes;
};

struct rs_iomap {
	struct ibv_mr *mr; /* of this end only; NULL in an entry that is not free: the peer is yet to hear that it is gone */
	uint32_t rkey;
	uint64_t offset, address, length; /* length 0: a free entry */
};

struct rsocket {
	pthread_mutex_t lock; /* guards all below but fd and refs */
	pthread_cond_t woken; /* a thread that slept for all has come back */
	unsigned sleepers;    /* in poll(), for its events and for its completions, which are armed */
	int cancel; /* cancel_restore(), of the thread that holds the lock */
	int fd;	  /* that of the event channel */
	int refs; /* under the lock of the table */

	int domain;
	int file_flags; /* O_NONBLOCK */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	enum rs_state state;
	int error;		/* of the connection, until SO_ERROR or a call has told it */
	bool closed;		/* by rclose(); who still waits ends */
	bool disconnected;	/* neither direction moves any more */
	bool peer_ended;	/* all of its bytes are here */
	bool end_wanted, ended; /* this end's last byte is posted; its RS_END too */
	bool read_shut;
	uint64_t moves; /* changes with everything that rs_progress() finds */

	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	char *memory; /* RS_RECEIVES slots to receive, RS_SLOTS to send */
	struct ibv_mr *mr;

	uint32_t credits, peer_slot_bytes;
	uint32_t posted, completed; /* send slots, in order */
	uint32_t controls;	    /* under way */
	uint32_t freed;		    /* receives posted again that the peer does not know of */
	struct rs_arrival {
		uint32_t slot, offset, length;
	} arrivals[RS_SLOTS];
	uint32_t arrival_head, arrival_count;

	struct rs_iomap own_maps[RS_IOMAPS], peer_maps[RS_IOMAPS];

	int options[17]; /* rsocket_option.c */
	int linger_ms;	 /* of rclose() */
};

/* rsocket_table.c */
/* A new one, with its own id or with `id`, which stays the caller's if that fails; NULL and errno. */
struct rsocket *rs_open(int domain, struct rdma_cm_id *id);
struct rsocket *rs_get(int fd);				     /* locked, with a reference, cancellation put off; NULL and EBADF, EIO in the child of a fork */
void rs_put(struct rsocket *rs);			     /* unlocks, and restores it */
struct rsocket *rs_find(int fd);			     /* as rs_get, but neither locked nor an error */
void rs_drop(struct rsocket *rs);			     /* as rs_put of that */
void rs_forget(struct rsocket *rs);			     /* takes it out of the table */

/* rsocket_queue.c; the caller holds the lock. Results are 0 or a positive errno. */
int rs_open_queues(struct rsocket *rs);
void rs_close_queues(struct rsocket *rs);
struct rs_hello rs_hello(void);
int rs_take_hello(struct rsocket *rs, const void *private_data, size_t length);
void rs_progress(struct rsocket *rs);
void rs_take_completions(struct rsocket *rs); /* a part of it */
void rs_arm(struct rsocket *rs);
void rs_awake(struct rsocket *rs); /* one of the sleepers */
int rs_wait(struct rsocket *rs, int timeout_ms); /* EINTR; ETIMEDOUT is not told: look at the clock */
void rs_fail(struct rsocket *rs, int error);
bool rs_may_send(const struct rsocket *rs);
bool rs_has_slot(const struct rsocket *rs);
/* Posts the send slot that rs_next_slot() gave; `to` NULL: as bytes of the stream. */
char *rs_next_slot(struct rsocket *rs);
int rs_post_slot(struct rsocket *rs, uint32_t length, const struct rs_iomap *to, uint64_t address);
int rs_post_receive(struct rsocket *rs, uint32_t slot);
char *rs_receive_slot(struct rsocket *rs, uint32_t slot);
bool rs_post_control(struct rsocket *rs, const struct rs_control *control);
/* What waits for a free place among the controls: credits, mappings that are gone, the end. */
void rs_post_due(struct rsocket *rs);

/* rsocket_connect.c: what the event channel has. */
void rs_take_events(struct rsocket *rs);

/* rsocket_option.c */
int rs_copy_address(const struct sockaddr *from, struct sockaddr *to, socklen_t *length);

static inline bool rs_connecting(const struct rsocket *rs)
{
	return rs->state == RS_RESOLVING || rs->state == RS_CONNECTING;
}

static inline int rs_result(int error) /* 0 or a positive errno */
{
	if (!error)
		return 0;
	errno = error;
	return -1;
}

#endif

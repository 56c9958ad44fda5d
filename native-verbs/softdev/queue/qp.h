/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs. qp.c creates and destroys them, qp_state.c changes their state; sq.c and rq.c hold the work queues. How
 * requests are executed depends on the type (struct qp_transport): transport/ implements RC and UC, datagram/
 * implements UD. Locks and threads:
 *
 * - qp->lock guards every field that does not belong to the progress thread.
 * - `busy` counts the threads that access application memory without the lock: one that runs the send queue, or the
 *   progress thread within one slice of a transfer. A thread that changes the state waits until `busy` is 0, or for a
 *   second if a disk has stopped. The last thread to leave flushes the queues if the state has become ERR.
 * - Links, timers and the task are used on the progress thread only; other threads post the task.
 */
#ifndef SOFTDEV_QP_H
#define SOFTDEV_QP_H

#include "device/device.h"
#include "link/link.h"
#include "memory/mr.h"
#include "memory/sge.h"
#include "process/counters.h"
#include "process/progress.h"
#include "process/workers.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/wire.h"

#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct peer;
struct fault;
struct send_op;
struct wr_builder;
struct ud_queue;

struct wqe {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	const struct send_op *op;
	unsigned int flags;
	__be32 imm;
	uint32_t rkey;
	uint64_t remote_addr;
	uint32_t length;
	uint32_t seq;
	int num_sge;
	struct ibv_sge *sge;
	uint8_t *inline_data; /* replaces the list for IBV_SEND_INLINE; holds the operands of an atomic */
	enum ibv_wc_status refused; /* status that it completes with in its turn; SUCCESS: execute it */
	bool started;	      /* the faults have been asked */
	bool unreadable;      /* its list is invalid: it fails in its turn */
	unsigned int streams; /* its frames that the link has not completely written */
	bool via_wire;	      /* a short cut has been tried; the responder decides */
	const struct fault *fault;
	bool key_asked; /* the peer was asked about its key, or is going to be */
	uint64_t received; /* bytes of a READ over the wire */
	/* Set once: until the progress thread has closed the link, the link may ask for the payload of any slot. */
	struct softdev_qp *qp;
	struct link_stream stream;
};

enum requester_state { REQUESTER_DOWN, REQUESTER_CONNECTING, REQUESTER_OPEN };

enum qp_async { QP_ASYNC_FATAL, QP_ASYNC_REQ_ERR, QP_ASYNC_ACCESS_ERR, QP_ASYNC_COMM_EST,
		QP_ASYNC_DRAINED, QP_ASYNC_LAST_WQE, QP_ASYNC_PATH_MIG, QP_ASYNC_PATH_MIG_ERR, QP_ASYNC_COUNT };

/* The send queue: done <= exec <= post. Guarded by qp->lock unless a comment says otherwise. */
struct send_queue {
	struct wqe *slots;
	uint32_t mask; /* number of slots - 1; a power of two of them, because the indices wrap at 2^32 */
	struct ibv_sge *sges;
	uint8_t *inline_data;
	uint32_t post, exec, done; /* index of the next to post, to execute, to complete */
	uint32_t started;	   /* everything before was sent once, even if exec has gone back */
	_Atomic uint32_t freed;	   /* slots before this one are free again; written by polling */
	uint32_t next_seq;
	uint32_t reads_outstanding;
	bool running;
	bool handed_over; /* a worker is about to run the queue */
	bool copying; /* a thread writes to the sink of the oldest READ without the lock */
	enum ibv_wc_status late_status; /* status of that READ, if it failed meanwhile, until the copy ends */
	bool tell_drained; /* SQD: raise an event once the queue is drained */
};

/* The receive queue, or its reference to a shared one. Guarded by qp->lock. */
struct receive_queue {
	struct rqe *slots;
	uint32_t mask; /* `mask` and `freed` as in the send queue */
	struct ibv_sge *sges;
	uint32_t post, done;
	_Atomic uint32_t freed;
	struct softdev_srq *srq;    /* NULL without a shared receive queue */
	struct rqe *shared_receive; /* taken from srq and not completed */
	bool told_last_wqe;
};

/* The requester, the half that connects. Guarded by qp->lock, except for what belongs to the progress thread. */
struct requester {
	enum requester_state state;
	struct peer *peer; /* a reference, in REQUESTER_OPEN if the peer can be read directly */
	uint32_t peer_slot;
	uint64_t peer_generation;
	pid_t peer_pid;
	uint8_t id[WIRE_REQUESTER_BYTES]; /* sent in struct qp_open at the beginning of each link */
	uint32_t rnr_retries_left;
	bool rnr_waiting;
	bool retry_waiting;
	bool peer_gone;	     /* with retry_waiting: retrying is pointless */
	bool path_changed;   /* connect again before sending anything else */
	bool waits_for_key;  /* the oldest READ continues when the peer has answered the question about its key */
	/* Progress thread only. */
	struct link *link;
	bool was_open; /* has been connected, so a refusal means that the peer died */
	uint64_t retry_deadline_ns, last_answer_ns;
};

/* The responder, the half that accepts. Progress thread only. */
struct responder {
	struct link *link;
	bool passed_files;
	uint32_t expected_seq; /* starts at rq_psn; modify_qp writes it before there can be a link */
	bool dropping; /* discard the incoming payload */
	enum ibv_wc_status nak; /* status to answer after the discarded payload */
	enum ibv_wc_status own_status; /* status of the receive that the failed request took */
	bool question_counted;	       /* the next request's wrong key was counted with its FILE_REQUEST */
	uint8_t requester_id[WIRE_REQUESTER_BYTES]; /* of the connected requester */
	bool receiving;		/* a receive is being filled */
	bool with_imm;		/* the incoming WRITE takes a receive at its end */
	bool established; /* the first request has arrived in RTR */
	bool silent;	  /* after a wrong key to invalidate the peer hears nothing (IBA 9.9.3, class J) */
	struct link_stream read_stream;
	struct frame read_ack;
	struct disk_wait *disk_wait; /* the next piece of that READ is on its way from a disk */
	/* The READ that is being answered, or the incoming WRITE. */
	uint32_t seq, rkey, total, chunk;
	uint64_t address, offset;
	int read_error;
};

struct softdev_qp {
	union {
		struct ibv_qp base;
		struct ibv_qp_ex ex; /* begins with the fields of ibv_qp */
	};
	struct wr_builder *builder; /* serves `ex`; NULL without it */
	const struct qp_transport *transport;
	uint32_t slot;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	int busy;

	struct softdev_pd *pd;
	struct softdev_cq *send_cq, *recv_cq;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	_Atomic int state; /* written under the lock, read without it between slices */
	struct ibv_qp_attr attr;

	struct pd_memory memory[5]; /* hold the arrays of both queues */
	int memory_count;
	struct send_queue sq;
	struct receive_queue rq;

	struct requester requester;
	struct responder responder;
	/* Progress thread only. */
	struct progress_task task;
	struct progress_timer timer; /* connect retry, RNR wait or missing answer */
	struct sge_hold slice;	     /* regions of the transfer in progress */
	struct worker_task reader;   /* runs the send queue where a READ may wait for a disk */

	struct ud_queue *ud; /* UD only (datagram/ud.h) */

	struct async_source async[QP_ASYNC_COUNT];
	uint32_t async_raised;
};

/* The operations that depend on the type of a queue pair. An operation that may be NULL does nothing if it is. */
struct qp_transport {
	/* Sets the task and the timer. 0 or a positive errno; destroy() follows in any case. */
	int (*create)(struct softdev_qp *qp);
	/* May be NULL. Called once the queue pair has its number. 0 or a positive errno. */
	int (*open)(struct softdev_qp *qp);
	/* Runs on the progress thread with no lock held; afterwards no callback uses the queue pair. */
	void (*disconnect)(struct softdev_qp *qp);
	/* May be NULL. */
	void (*destroy)(struct softdev_qp *qp);
	/* May be NULL. Returns true if the queue pair cannot be destroyed now. */
	bool (*is_in_use)(const struct softdev_qp *qp);
	/*
	 * May be NULL. Called with qp->lock held: copies the type-specific part of a request to the slot. 0 or a
	 * positive errno.
	 */
	int (*take_request)(struct softdev_qp *qp, uint32_t slot, const struct ibv_send_wr *wr);
	/* Called with qp->lock held, which it releases for a while: executes the send queue as far as possible. */
	void (*run)(struct softdev_qp *qp);
};

/* Indexed by ibv_qp_type; NULL if the type is not supported. parts.c names them. */
extern const struct qp_transport *const qp_transports[IBV_QPT_UD + 1];

static inline struct softdev_qp *to_qp(struct ibv_qp *qp)
{
	return container_of_(qp, struct softdev_qp, base);
}

/* Implements link_ops.qp_number. */
static inline uint32_t qp_number_of(const void *qp)
{
	return ((const struct softdev_qp *)qp)->base.qp_num;
}

/* Returns true for UC, where nothing is answered and a request that cannot be executed is dropped silently. */
static inline bool is_unreliable(const struct softdev_qp *qp)
{
	return qp->base.qp_type == IBV_QPT_UC;
}

void qp_set_ops(struct verbs_context *verbs);

/* qp_attr.c. Called with qp->lock held; qp_check_transition() returns 0 or a positive errno. */
int qp_check_transition(const struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state *next);
void qp_apply_attributes(struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask);

/* qp.c. Called with qp->lock held. */
void qp_raise(struct softdev_qp *qp, enum qp_async kind);
/* Raises an event; returns false if the type is not one of a queue pair. */
bool qp_raise_type(struct softdev_qp *qp, enum ibv_event_type type);

/* qp_state.c. Called with qp->lock held, except for qp_send_posted() and qp_fail_all_of(). */
/* Shows the queue pair to its peers under a generation that has never been used before; each RESET begins a new one. */
void qp_begin_generation(struct softdev_qp *qp);
uint64_t qp_generation(const struct softdev_qp *qp);
/*
 * Enters RESET, in which nothing begins any more, and waits for a copy. If that takes a second, since its disk has stopped, the
 * queue pair is in ERR, and is flushed when the copy has ended: false.
 */
bool qp_stop(struct softdev_qp *qp);
/* Enters RESET, and empties the queues; releases the lock for a while. */
void qp_reset(struct softdev_qp *qp);
/* Lets the progress thread send what it can send at once before the queue pair ends. */
void qp_send_posted(struct softdev_qp *qp);
/* Enters ERR. The queues are flushed as soon as no thread is busy. */
void qp_enter_error(struct softdev_qp *qp);
/* Called when a send has failed on this side. UC and UD go to SQE, which keeps their receive queues; RC goes to ERR. */
void qp_enter_send_error(struct softdev_qp *qp);
/* Count the thread in and out of `busy`. The last qp_busy_end() flushes what the state requires. */
void qp_busy_begin(struct softdev_qp *qp);
void qp_busy_end(struct softdev_qp *qp);
/* Flushes what the state requires, unless a thread is busy that will do it. */
void qp_flush(struct softdev_qp *qp);
/* Fails every queue pair that uses the completion queue. Progress thread. */
void qp_fail_all_of(const struct softdev_cq *cq);
/* qp_table.c. Called without qp->lock. */
bool qp_is_live(const struct softdev_qp *qp);
/* Both run on the progress thread only. */
struct softdev_qp *qp_find(uint32_t qpn);
void qp_for_each(void (*visit)(struct softdev_qp *qp, void *argument), void *argument);

/* sq.c */
int qp_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int qp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* Posts the whole list or nothing. Returns 0 or the errno of the first request that cannot be posted. */
int sq_post_all(struct softdev_qp *qp, const struct ibv_send_wr *wr);
/* Frees the slots that a polled completion covers. Any thread, with cq.lock held. */
void qp_free_slots(const struct cqe *polled);
/* Called with qp->lock held, which it releases for a while. */
void sq_run(struct softdev_qp *qp);
/*
 * The following are called with qp->lock held. sq_complete() completes the oldest request; if `status` is an error, it
 * also calls qp_enter_send_error().
 */
void sq_complete(struct softdev_qp *qp, enum ibv_wc_status status);
/*
 * Completes the oldest requests successfully, without asking the faults: their completions enter the queue together and
 * raise one event. None of them is being copied.
 */
void sq_complete_all(struct softdev_qp *qp, unsigned int count);
/* Completes every posted request with IBV_WC_WR_FLUSH_ERR. */
void sq_flush(struct softdev_qp *qp);
bool sq_is_drained(const struct softdev_qp *qp);
void sq_tell_if_drained(struct softdev_qp *qp);
struct wqe *sq_oldest(struct softdev_qp *qp); /* NULL if the queue is empty */
static inline struct wqe *sq_at(struct softdev_qp *qp, uint32_t index)
{
	return &qp->sq.slots[index & qp->sq.mask];
}

#endif

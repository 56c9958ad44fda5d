/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queue pairs. qp.c creates, modifies and destroys; sq.c and rq.c hold the work queues. What is done with the requests
 * differs (struct qp_transport): transport/ has RC and UC, datagram/ UD. Locks and threads:
 *
 *  - qp->lock guards everything below that is not said to belong to the progress thread.
 *  - `busy` counts those who touch application memory without the lock: a thread that runs the send queue, or
 *    the progress thread inside one slice of a transfer. Whoever changes the state waits until it is 0, and the
 *    last one to leave flushes the queues if the state is ERR meanwhile.
 *  - Links, timers and the task are used on the progress thread only; other threads post the task.
 */
#ifndef SOFTDEV_QP_H
#define SOFTDEV_QP_H

#include "device/device.h"
#include "link/link.h"
#include "memory/mr.h"
#include "memory/sge.h"
#include "process/counters.h"
#include "process/progress.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq_defer.h"
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
	uint8_t *inline_data; /* IBV_SEND_INLINE: instead of the list; the operands of an atomic */
	enum ibv_wc_status refused; /* what it ends with when its turn comes; SUCCESS: it is executed */
	bool started;	      /* faults were asked */
	bool unreadable;      /* its list is bad: fails when its turn comes */
	unsigned int streams; /* frames of it that the link has not written to their end */
	bool via_wire;	      /* a short cut was tried, the responder is to judge */
	const struct fault *fault;
	bool key_asked;
	uint64_t received; /* READ over the wire */
	/* Set once, for a link may ask for the payload of a slot until the progress thread has closed it. */
	struct softdev_qp *qp;
	struct link_stream stream;
};

enum requester_state { REQUESTER_DOWN, REQUESTER_CONNECTING, REQUESTER_OPEN };

enum qp_async { QP_ASYNC_FATAL, QP_ASYNC_REQ_ERR, QP_ASYNC_ACCESS_ERR, QP_ASYNC_COMM_EST,
		QP_ASYNC_DRAINED, QP_ASYNC_LAST_WQE, QP_ASYNC_PATH_MIG, QP_ASYNC_PATH_MIG_ERR, QP_ASYNC_COUNT };

/* The send queue: done <= exec <= post. qp->lock where nothing else is said. */
struct send_queue {
	struct wqe *slots;
	uint32_t mask; /* as many slots as a power of two, for the indices wrap at 2^32 */
	struct ibv_sge *sges;
	uint8_t *inline_data;
	uint32_t post, exec, done; /* next to post, to execute, to complete */
	uint32_t started;	   /* sent once up to here, though exec may have gone back */
	_Atomic uint32_t freed;	   /* slots up to here may be used again; written by polling */
	uint32_t next_seq;
	uint32_t reads_outstanding;
	bool running;
	bool copying; /* a thread writes to the sink of the oldest READ, without the lock */
	enum ibv_wc_status late_status; /* that READ failed meanwhile: its status when the copy has ended */
	bool tell_drained; /* SQD: raise an event when nothing is under way any more */
	struct sq_defer defer;
};

/* The receive queue, or the shared one in its place. qp->lock. */
struct receive_queue {
	struct rqe *slots;
	uint32_t mask; /* as that of the send queue, and so `freed` */
	struct ibv_sge *sges;
	uint32_t post, done;
	_Atomic uint32_t freed;
	struct softdev_srq *srq;    /* NULL: there is none */
	struct rqe *shared_receive; /* taken from it and not completed */
	bool told_last_wqe;
};

/* The connecting half: qp->lock, but what belongs to the progress thread. */
struct requester {
	enum requester_state state;
	struct peer *peer; /* a reference, while REQUESTER_OPEN and the peer can be read directly */
	uint32_t peer_slot;
	uint64_t peer_generation;
	pid_t peer_pid;
	uint8_t id[WIRE_REQUESTER_BYTES]; /* what its links begin with (struct qp_open) */
	uint32_t rnr_retries_left;
	bool rnr_waiting;
	bool retry_waiting;
	bool peer_gone;	     /* with retry_waiting: there is nothing to try again */
	bool path_changed;   /* connect anew before anything else is sent */
	uint32_t wanted_key; /* to ask the peer about, 0 = none */
	bool waits_for_key;  /* the oldest READ goes on when the answer is there */
	/* progress thread only */
	struct link *link;
	bool was_open; /* the peer was there once: refused means that it died */
	uint64_t retry_deadline_ns, last_answer_ns;
};

/* The accepting half. Progress thread only. */
struct responder {
	struct link *link;
	bool passed_files;
	uint32_t expected_seq; /* from rq_psn on; written by modify_qp before there can be a link */
	bool dropping; /* the payload that comes in is to be discarded */
	enum ibv_wc_status nak; /* what to answer when it is through */
	enum ibv_wc_status own_status; /* and what the receive ends with that it took */
	bool question_counted;	       /* the wrong key of the next request was counted when it was asked about */
	uint8_t requester_id[WIRE_REQUESTER_BYTES]; /* of who has connected */
	bool receiving;		/* an RQE is being filled */
	bool with_imm;		/* the WRITE that comes in takes an RQE at its end */
	bool established; /* in RTR a first request has come */
	struct link_stream read_stream;
	/* the READ that is being answered, or the WRITE that comes in */
	uint32_t seq, rkey, total, chunk;
	uint64_t address, offset;
	int read_error;
};

struct softdev_qp {
	union {
		struct ibv_qp base;
		struct ibv_qp_ex ex; /* begins with the other */
	};
	struct wr_builder *builder; /* of `ex`, or NULL */
	const struct qp_transport *transport;
	uint32_t slot;
	pthread_mutex_t lock;
	pthread_cond_t idle;
	int busy;

	struct softverbs_connection record; /* see transport/connection.h */

	struct softdev_pd *pd;
	struct softdev_cq *send_cq, *recv_cq;
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	_Atomic int state; /* written under lock; read between slices without it */
	struct ibv_qp_attr attr;

	struct pd_memory memory[5]; /* the arrays of the two queues */
	int memory_count;
	struct send_queue sq;
	struct receive_queue rq;

	struct requester requester;
	struct responder responder;
	/* progress thread only */
	struct progress_task task;
	struct progress_timer timer; /* connect retry, RNR wait, or missing answer */
	struct sge_hold slice;	     /* of the transfer that runs right now */

	struct ud_queue *ud; /* UD only (datagram/ud.h) */

	struct async_source async[QP_ASYNC_COUNT];
	uint32_t async_raised;
};

/* What differs between the types of queue pairs. Operations that may be NULL do nothing then. */
struct qp_transport {
	/* Sets task and timer. 0 or a positive errno; then, as at the end of each queue pair, destroy() undoes it. */
	int (*create)(struct softdev_qp *qp);
	/* May be NULL. It has its number now. 0 or a positive errno. */
	int (*open)(struct softdev_qp *qp);
	/* Progress thread, no lock held: after this no callback touches it. */
	void (*disconnect)(struct softdev_qp *qp);
	/* May be NULL. qp->lock held, after disconnect(): it is reset. */
	void (*reset)(struct softdev_qp *qp);
	/* May be NULL. */
	void (*destroy)(struct softdev_qp *qp);
	/* May be NULL. qp->lock held. What a request of that slot has that others have not. 0 or a positive errno. */
	int (*take_request)(struct softdev_qp *qp, uint32_t slot, const struct ibv_send_wr *wr);
	/* qp->lock held, dropped meanwhile: executes the send queue as far as can be. */
	void (*run)(struct softdev_qp *qp);
};

/* By ibv_qp_type; NULL: there is no such queue pair. parts.c names them. */
extern const struct qp_transport *const qp_transports[IBV_QPT_UD + 1];

/* For the process and for the connection; who runs the send queue, or has qp->lock, does it. */
#define COUNT_FOR(qp, field, amount)                                                               \
	do {                                                                                       \
		COUNT_ADD(field, amount);                                                          \
		__atomic_store_n(&(qp)->record.field, (qp)->record.field + (uint64_t)(amount),     \
				 __ATOMIC_RELAXED);                                                \
	} while (0)

static inline struct softdev_qp *to_qp(struct ibv_qp *qp)
{
	return container_of_(qp, struct softdev_qp, base);
}

/* For link_ops: the owner of a link. */
static inline uint32_t qp_number_of(const void *qp)
{
	return ((const struct softdev_qp *)qp)->base.qp_num;
}

/* UC: nothing is answered, and what cannot be executed is dropped without a word. */
static inline bool is_unreliable(const struct softdev_qp *qp)
{
	return qp->base.qp_type == IBV_QPT_UC;
}

void qp_set_ops(struct verbs_context *verbs);
/* The operation of verbs_context. */
struct ibv_qp *qp_create_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* qp_attr.c: 0 or a positive errno; qp->lock held. */
int qp_check_transition(const struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state *next);
void qp_apply_attributes(struct softdev_qp *qp, const struct ibv_qp_attr *attr, int mask);

/* qp.c; qp->lock held for all but the last four. */
/* Never used before, new at every RESET. */
uint64_t qp_generation(const struct softdev_qp *qp);
void qp_enter_error(struct softdev_qp *qp);
/* A send has failed here: SQE for UC and UD, whose receive queues go on, ERR for RC. */
void qp_enter_send_error(struct softdev_qp *qp);
void qp_raise(struct softdev_qp *qp, enum qp_async kind);
/* False if it is no event of a queue pair. */
bool qp_raise_type(struct softdev_qp *qp, enum ibv_event_type type);
void qp_busy_begin(struct softdev_qp *qp);
void qp_busy_end(struct softdev_qp *qp);
void qp_fail_all_of(const struct softdev_cq *cq);
/* qp_table.c. */
bool qp_is_live(const struct softdev_qp *qp);
/* Progress thread only. */
struct softdev_qp *qp_find(uint32_t qpn);
void qp_for_each(void (*visit)(struct softdev_qp *qp, void *argument), void *argument);

/* sq.c */
int qp_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int qp_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
/* All of the list or nothing. 0 or the errno of the first that cannot be posted. */
int sq_post_all(struct softdev_qp *qp, const struct ibv_send_wr *wr);
/* A completion was polled: the slots of its queue up to there may be used again. Any thread, cq.lock held. */
void qp_free_slots(const struct cqe *polled);
/* qp->lock held, dropped meanwhile. */
void sq_run(struct softdev_qp *qp);
/* qp->lock held. */
void sq_complete(struct softdev_qp *qp, enum ibv_wc_status status);
void sq_flush(struct softdev_qp *qp);
bool sq_is_drained(const struct softdev_qp *qp);
void sq_tell_if_drained(struct softdev_qp *qp);
struct wqe *sq_oldest(struct softdev_qp *qp); /* NULL when empty */
static inline struct wqe *sq_at(struct softdev_qp *qp, uint32_t index)
{
	return &qp->sq.slots[index & qp->sq.mask];
}

#endif

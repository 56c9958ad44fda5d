/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internal interface of the connection manager (librdmacm). The progress thread owns the state of an id: an rdma_*
 * function checks its arguments, runs the change there with cm_run() and waits for it. Verbs calls, such as the
 * transitions of a queue pair, are made by an application thread, either in the rdma_* function or when it reads the
 * event that requires them.
 *
 * An event is owned by the id on which it was reported (the listener for CONNECT_REQUEST) from push to acknowledgement.
 * rdma_destroy_id() takes back the events that nobody has read and waits until the others are acknowledged.
 */
#ifndef SOFTDEV_CM_H
#define SOFTDEV_CM_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cm/cm_wire.h"
#include "core.h"
#include "device/device.h"
#include "fault/fault_hold.h"
#include "process/event_queue.h"
#include "process/progress.h"

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTENING,
	CM_ADDRESS_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_LOOKING_UP,	     /* asks the UDP port of the listener for its process */
	CM_LINKING,	     /* opens the link to that process */
	CM_REQUEST_SENT,     /* waits for the peer's application to answer */
	CM_REPLY_RECEIVED,   /* waits for our application to read the answer */
	CM_REQUEST_RECEIVED, /* passive side: waits for rdma_accept or rdma_reject */
	CM_REPLY_SENT,	     /* passive side: waits for READY */
	CM_CONNECTED,
	CM_DISCONNECT_SENT,
	CM_DISCONNECT_RECEIVED,
	CM_CLOSED, /* the connection has ended or could not be made */
};

struct cm_channel {
	struct rdma_event_channel channel;
	struct event_queue queue;
};

struct cm_event {
	struct rdma_cm_event event;
	struct event_node node;
	struct cm_channel *channel;
	struct cm_id *owner;
	struct list place; /* in the list of the owner */
	struct fault_held held; /* while a fault keeps it from the channel */
	bool left_behind; /* the application read it before its id migrated; under event_lock */
	uint8_t private_data[CM_REPLY_PRIVATE_DATA];
};

struct cm_id {
	struct rdma_cm_id id;
	bool sync; /* created without a channel: each call waits for its event */
	bool holds_default_pd;

	/* The application's side of the id. */
	bool has_request_attr; /* set by rdma_create_ep(), for the queue pairs of rdma_get_request() */
	struct ibv_qp_init_attr request_attr;
	uint8_t ack_timeout;
	bool has_ack_timeout;
	uint8_t type_of_service;
	bool reuse_address;
	bool v6_only;
	struct ibv_sa_path_rec path;
	struct list groups; /* that it has joined (cm_multicast.c) */

	pthread_mutex_t event_lock;
	pthread_cond_t event_acked;
	struct list events; /* queued or not acknowledged yet, oldest first; guarded by event_lock */

	/* From here on, fields belong to the progress thread unless a comment says otherwise. */
	enum cm_state state;
	struct progress_watch udp_watch; /* its socket reserves the port; on a listener it also answers requests */
	struct progress_timer timer;
	uint64_t deadline_ns;
	int attempts;
	struct link *link;
	uint16_t process_port;
	uint8_t client_nonce[LINK_NONCE_BYTES];
	uint8_t process_nonce[LINK_NONCE_BYTES];
	uint8_t cookie[CM_COOKIE_BYTES];
	uint8_t request_private_data[CM_DATAGRAM_REQUEST_PRIVATE_DATA];

	/* Written before the event that lets the application read them is pushed, and constant afterwards. */
	struct cm_queue_pair local, remote;

	/*
	 * Listeners only: their place in the list of listeners (progress thread), the backlog, and how many CONNECT_REQUEST events
	 * nobody has read.
	 */
	struct list listener;
	int backlog;
	atomic_int unread_requests;
};

static inline struct cm_id *to_cm_id(struct rdma_cm_id *id)
{
	return container_of_(id, struct cm_id, id);
}

/*
 * Returns true if the queue pair of the id takes datagrams. Such an id exchanges addresses (cm_datagram.c) and never
 * has a connection.
 */
static inline bool cm_is_datagram(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static inline struct cm_channel *to_cm_channel(struct rdma_event_channel *channel)
{
	return container_of_(channel, struct cm_channel, channel);
}

/* Returns true if the channel, and with it every id on it, belongs to the engine of a parent process. */
static inline bool cm_is_inherited(struct rdma_event_channel *channel)
{
	return to_cm_channel(channel)->queue.engine != engine;
}

/* Converts 0 or -errno to the convention of librdmacm: 0, or -1 with errno set. */
int cm_result(int negative_errno);

/* Runs function(id, argument) on the progress thread and returns its result, or -errno if it could not be run. */
int cm_run(struct cm_id *id, int (*function)(struct cm_id *id, void *argument), void *argument);

/* cm_id.c */
struct cm_id *cm_create_id(struct rdma_event_channel *channel, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type);
void cm_free_id(struct cm_id *id);
/* As rdma_create_id(), for an id whose queue pair has the given type. */
int cm_open_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	       enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* Waits for the operation of a synchronous id to end; returns at once for any other id. 0, or -1 with errno set. */
int cm_complete(struct cm_id *id);
/* Acknowledges the event that the last call on a synchronous id has left in id->event. */
void cm_take_event(struct cm_id *id);

/* cm_event.c */
struct cm_event *cm_new_event(struct cm_id *owner, struct cm_id *id, enum rdma_cm_event_type type,
			      int status);
void cm_push_event(struct cm_event *event);
/* Puts the events that faults hold on the channel of the id now, because it takes them all back. */
void cm_release_held(const struct cm_id *id);
/* Reports an event without private data. If memory is short, the event is lost and the loss is logged. */
void cm_report(struct cm_id *id, enum rdma_cm_event_type type, int status);
void cm_set_private_data(struct cm_event *event, const void *data, uint8_t length);
/*
 * Takes back the events of an id: frees the queued ones, together with the ids that they carry, and waits until the
 * others are acknowledged. Application threads only.
 */
void cm_drain_events(struct cm_id *id);

/* cm_address.c. Progress thread. */
int cm_bind(struct cm_id *id, const struct sockaddr *address);
void cm_unbind(struct cm_id *id);
/*
 * Leaves the socket of the id with nothing to do but reserve its port. The socket stays watched, because the child of a
 * fork closes the watched descriptors. 0 or -errno.
 */
int cm_hold_port(struct cm_id *id);
socklen_t cm_address_length(const struct sockaddr *address);
bool cm_address_is_wildcard(const struct sockaddr *address);
uint16_t cm_address_port(const struct sockaddr *address);
/* Stores the address from which the kernel would send to `destination`, with port 0. Any thread. 0 or -errno. */
int cm_find_source(const struct sockaddr *destination, struct sockaddr_storage *source);
/* Gives the id the device, and the default protection domain if it has none. */
void cm_set_device(struct cm_id *id);
/* Ends the id's use of the default protection domain, before the id is freed. */
void cm_leave_device(struct cm_id *id);
void cm_set_path(struct cm_id *id);

/* cm_rendezvous.c. Progress thread. */
/* Makes the listener answer requests on its UDP socket. 0 or -errno. */
int cm_serve_rendezvous(struct cm_id *listener);
/* Asks the destination port for its process; cm_open_link() or cm_fail_connect() follows. 0 or -errno. */
int cm_start_rendezvous(struct cm_id *id);
bool cm_cookie_is_valid(const struct cm_request *request);

/* cm_connection.c. Progress thread. */
extern const struct link_ops cm_connection_ops;
/* The callee of link_incoming (link.h) for links of a CM client, in cm_listen.c. */
void cm_on_incoming_link(struct link *link);
void cm_open_link(struct cm_id *id);
/* Ends the id's link, by link_close() or link_close_after_flush(), and its timer. */
void cm_end(struct cm_id *id, void (*close)(struct link *link), enum cm_state state);
/*
 * Takes over what the peer has told of its queue pair, and stores it for the application. What the peer is willing to
 * serve limits what this side may request, and vice versa.
 */
void cm_take_peer(struct cm_id *id, const struct cm_queue_pair *peer, struct rdma_conn_param *param);
/* Gives up connecting: closes the link and reports the event. */
void cm_fail_connect(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Gives up the connection, or the unanswered request, at the deadline. */
void cm_set_deadline(struct cm_id *id, uint64_t deadline_ns);
/* Ends the connection: closes the link and reports TIMEWAIT_EXIT a little later. */
void cm_enter_timewait(struct cm_id *id);
/* Tells the peer that the id is going away, and drops the link and the timer. */
void cm_abandon(struct cm_id *id);
void cm_send_reject(struct cm_id *id, int reason, const void *private_data, uint8_t length);
void cm_send_op(struct cm_id *id, enum cm_frame_op op);

/* cm_datagram.c. Progress thread. */
/* The listener's answer, a reply or a reject, ends the exchange. */
void cm_datagram_reply(struct cm_id *id, const struct cm_reply *reply);
void cm_datagram_reject(struct cm_id *id, int reason, const struct cm_reject *reject);
int cm_datagram_status(int reject_reason);
int cm_send_datagram_reply(struct cm_id *id, void *param);
/* Fills `attr` with the path to the other end of the id. */
void cm_fill_path(const struct cm_id *id, struct ibv_ah_attr *attr);

/* cm_multicast.c. Application threads. */
/* Leaves all groups, before the queue pair or the id ends. */
void cm_leave_groups(struct cm_id *id);

/* cm_connect.c. Progress thread. */
int cm_send_ready(struct cm_id *id, void *unused);

/* cm_qp.c. Application threads; 0 or -errno. */
int cm_modify_to_ready(struct cm_id *id);
uint8_t cm_source_gid_index(const struct cm_id *id);
void cm_modify_to_error(struct cm_id *id);

#endif

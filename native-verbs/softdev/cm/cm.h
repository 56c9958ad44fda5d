/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of librdmacm's half. The state of an id belongs to the progress thread; an rdma_*
 * function checks its arguments, sends the change there with cm_run() and waits. Verbs calls (a
 * queue pair's transitions) are made by the application's thread, in rdma_* or when it reads the
 * event that asks for them.
 *
 * An event is owned by the id that it was reported on (the listener for CONNECT_REQUEST) from push
 * to acknowledgement; rdma_destroy_id() takes back what nobody has read and waits for the rest.
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
#include "process/event_queue.h"
#include "process/progress.h"

enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_LISTENING,
	CM_ADDRESS_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_LOOKING_UP,	     /* asks the listener's port for its process */
	CM_LINKING,	     /* the link to that process is on its way */
	CM_REQUEST_SENT,     /* waits for the answer of the application there */
	CM_REPLY_RECEIVED,   /* waits for the application here to read the answer */
	CM_REQUEST_RECEIVED, /* passive: waits for rdma_accept or rdma_reject */
	CM_REPLY_SENT,	     /* passive: waits for READY */
	CM_CONNECTED,
	CM_DISCONNECT_SENT,
	CM_DISCONNECT_RECEIVED,
	CM_CLOSED, /* was connected, or could not be */
};

/* Of newer versions of rdma_cma.h than this is compiled with. */
enum {
	CM_EVENT_ADDRINFO_RESOLVED = RDMA_CM_EVENT_TIMEWAIT_EXIT + 1,
	CM_EVENT_ADDRINFO_ERROR,
	CM_EVENT_USER,
	CM_EVENT_INTERNAL,

	CM_RAI_SA = 0x10,
	CM_RAI_DNS = 0x20,
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
	struct cm_event *previous, *next; /* in the owner's list */
	bool left_behind; /* read before its id migrated, which waits for it; under event_lock */
	uint8_t private_data[CM_REPLY_PRIVATE_DATA];
};

struct cm_id {
	struct rdma_cm_id id;
	bool sync; /* made without a channel: calls wait for their event */
	bool holds_default_pd;

	/* Application side. */
	bool has_request_attr; /* rdma_create_ep: queue pairs of rdma_get_request() */
	struct ibv_qp_init_attr request_attr;
	uint8_t ack_timeout;
	bool has_ack_timeout;
	uint8_t type_of_service;
	bool reuse_address;
	bool v6_only;
	struct ibv_sa_path_rec path;

	/* Events that are queued or not acknowledged yet, and more. Guarded by event_lock. */
	pthread_mutex_t event_lock;
	pthread_cond_t event_acked;
	struct cm_event *events;
	struct rdma_addrinfo *found; /* by rdma_resolve_addrinfo(), for rdma_query_addrinfo() */

	/* Progress thread only, from here on, but for what a comment excepts. */
	enum cm_state state;
	int udp_fd; /* reserves the port and, on a listener, answers */
	struct progress_watch udp_watch;
	struct progress_timer timer;
	uint64_t deadline_ns;
	int attempts;
	struct link *link;
	uint16_t process_port;
	uint8_t client_nonce[LINK_NONCE_BYTES];
	uint8_t process_nonce[LINK_NONCE_BYTES];
	uint8_t cookie[CM_COOKIE_BYTES];
	uint8_t request_private_data[CM_DATAGRAM_REQUEST_PRIVATE_DATA];

	/* Written before the event that lets the application read them is pushed, constant
	 * afterwards. */
	struct cm_queue_pair local, remote;

	/* Listener: list of listeners (progress thread), and its CONNECT_REQUESTs that nobody has
	 * read. */
	struct cm_id *next_listener;
	int backlog;
	atomic_int unread_requests;
};

static inline struct cm_id *to_cm_id(struct rdma_cm_id *id)
{
	return container_of_(id, struct cm_id, id);
}

/* Its queue pair takes datagrams: there is an exchange of addresses (cm_datagram.c), and no connection. */
static inline bool cm_is_datagram(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static inline struct cm_channel *to_cm_channel(struct rdma_event_channel *channel)
{
	return container_of_(channel, struct cm_channel, channel);
}

/* It, and so each of its ids, is of the engine of a parent of this process. */
static inline bool cm_is_inherited(struct rdma_event_channel *channel)
{
	return to_cm_channel(channel)->queue.engine != engine;
}

/* 0, or -1 with errno set: turns our -errno into librdmacm's convention. */
int cm_result(int negative_errno);

/* Runs function(id, argument) on the progress thread and returns what it returns, or -errno. */
int cm_run(struct cm_id *id, int (*function)(struct cm_id *id, void *argument), void *argument);

/* cm_id.c */
struct cm_id *cm_create_id(struct rdma_event_channel *channel, void *context,
			   enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* As rdma_create_id(), for an id whose queue pair is of that type. */
int cm_open_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
	       enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* Waits for an operation of a synchronous id; 0 at once for the others. 0 or -1 + errno. */
int cm_complete(struct cm_id *id);
/* Acknowledges the event that the last call of a synchronous id has left in id->event. */
void cm_take_event(struct cm_id *id);

/* cm_event.c */
struct cm_event *cm_new_event(struct cm_id *owner, struct cm_id *id, enum rdma_cm_event_type type,
			      int status);
void cm_push_event(struct cm_event *event);
/* Without private data; if there is no memory for it the event is lost and logged. */
void cm_report(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* Reports from an application thread, with an argument in place of parameters. 0 or -errno. */
int cm_write_event(struct cm_id *id, int type, int status, uint64_t argument);
void cm_set_private_data(struct cm_event *event, const void *data, uint8_t length);
/* Takes back the id's events: frees those in the queue (and the ids that came with them), waits for
 * the others. */
void cm_drain_events(struct cm_id *id);

/* cm_address.c. Progress thread. */
int cm_bind(struct cm_id *id, const struct sockaddr *address);
void cm_unbind(struct cm_id *id);
/* The id's socket only reserves its port; it stays watched, for the child of a fork closes what is. 0 or
 * -errno. */
int cm_hold_port(struct cm_id *id);
socklen_t cm_address_length(const struct sockaddr *address);
bool cm_address_is_wildcard(const struct sockaddr *address);
uint16_t cm_address_port(const struct sockaddr *address);
/* The address from which the kernel's routing would send to `destination`, with port 0. Any thread;
 * 0 or -errno. */
int cm_find_source(const struct sockaddr *destination, struct sockaddr_storage *source);
void cm_set_device(struct cm_id *id);
/* The id is about to be freed. */
void cm_leave_device(struct cm_id *id);
void cm_set_path(struct cm_id *id);

/* cm_rendezvous.c. Progress thread. */
int cm_serve_rendezvous(struct cm_id *listener);
int cm_start_rendezvous(struct cm_id *id);
bool cm_cookie_is_valid(const struct cm_request *request);

/* cm_listen.c. Progress thread. */
void cm_stop_listening(struct cm_id *id);

/* cm_connection.c. Progress thread. */
extern const struct link_ops cm_connection_ops;
/* cm_listen.c: takes an incoming link of a client (link.h). */
void cm_on_incoming_link(struct link *link);
void cm_open_link(struct cm_id *id);
void cm_fail_connect(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* After it a connection or a request that gets no answer is given up. */
void cm_set_deadline(struct cm_id *id, uint64_t deadline_ns);
/* The connection has ended: closes the link, reports TIMEWAIT_EXIT soon. */
void cm_enter_timewait(struct cm_id *id);
/* Tells the peer that the id goes away and forgets link and timer. */
void cm_abandon(struct cm_id *id);
void cm_send_reject(struct cm_id *id, int reason, const void *private_data, uint8_t length);
void cm_send_op(struct cm_id *id, enum cm_frame_op op);

/* cm_datagram.c. Progress thread. */
/* What the listener has answered; ends the exchange. */
void cm_datagram_reply(struct cm_id *id, const struct cm_reply *reply);
void cm_datagram_reject(struct cm_id *id, int reason, const struct cm_reject *reject);
int cm_datagram_status(int reject_reason);
int cm_send_datagram_reply(struct cm_id *id, void *param);
/* How to send to the other end of the id. */
void cm_fill_path(const struct cm_id *id, struct ibv_ah_attr *attr);

/* cm_connect.c. Progress thread. */
int cm_send_ready(struct cm_id *id, void *unused);

/* cm_qp.c. Application threads; 0 or -errno. */
int cm_modify_to_ready(struct cm_id *id);
uint8_t cm_source_gid_index(const struct cm_id *id);
void cm_modify_to_error(struct cm_id *id);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the tests of the connection manager share; each fails the test if it does not work. */
#ifndef SHUFFLE_RDMA_CM_FIXTURE_H
#define SHUFFLE_RDMA_CM_FIXTURE_H

#include <arpa/inet.h>

#include "cm/cm_exports.h"
#include "query_qp.h"
#include "softverbs.h"

enum { EVENT_WAIT_MS = 15000 };

#define CM_LOOPBACK "127.0.0.1"

static inline struct rdma_event_channel *cm_channel_open(void)
{
	struct rdma_event_channel *channel = softverbs_rdma_create_event_channel();

	CHECK(channel);
	return channel;
}

static inline struct rdma_cm_id *cm_id_open(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id;

	CHECK(!softverbs_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

static inline struct sockaddr_storage cm_address(const char *text, uint16_t port)
{
	struct sockaddr_storage address = {0};
	struct sockaddr_in *v4 = (struct sockaddr_in *)&address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&address;

	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = port;
	} else {
		memset(&address, 0, sizeof(address));
		CHECK(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1);
		v6->sin6_family = AF_INET6;
		v6->sin6_port = port;
	}
	return address;
}

/* A listener on a free port of that address; the port in network order. */
static inline struct rdma_cm_id *cm_listen_on(struct rdma_event_channel *channel, const char *text,
					      int backlog, uint16_t *port)
{
	struct sockaddr_storage address = cm_address(text, 0);
	struct rdma_cm_id *id = cm_id_open(channel);

	CHECK(!softverbs_rdma_bind_addr(id, (struct sockaddr *)&address));
	CHECK(!softverbs_rdma_listen(id, backlog));
	*port = softverbs_rdma_get_src_port(id);
	CHECK(*port);
	return id;
}

/* In a test of two processes, one side listens on loopback and sends the port through `fd`, where the other receives it. */
static inline struct rdma_cm_id *cm_listen_for(int fd, struct rdma_event_channel *channel, int backlog)
{
	uint16_t port;
	struct rdma_cm_id *id = cm_listen_on(channel, CM_LOOPBACK, backlog, &port);

	test_send(fd, &port, sizeof(port));
	return id;
}

static inline uint16_t cm_receive_port(int fd)
{
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	return port;
}

/* The next event, which must be of that type; to be acknowledged by the caller. */
static inline struct rdma_cm_event *cm_expect(struct rdma_event_channel *channel,
					      enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	if (!test_readable(channel->fd, EVENT_WAIT_MS)) {
		fprintf(stderr, "no %s\n", softverbs_rdma_event_str(type));
		CHECK(false);
	}
	CHECK(!softverbs_rdma_get_cm_event(channel, &event));
	if (event->event != type) {
		fprintf(stderr, "%s, status %d, instead of %s\n",
			softverbs_rdma_event_str(event->event), event->status,
			softverbs_rdma_event_str(type));
		CHECK(false);
	}
	return event;
}

/* The same and acknowledged; returns its status. */
static inline int cm_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = cm_expect(channel, type);
	int status = event->status;

	CHECK(!softverbs_rdma_ack_cm_event(event));
	return status;
}

/* Asks for an address; the caller takes the event with the answer. */
static inline void cm_request_address(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_storage address = cm_address(text, port);

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
}

/* Resolves the address and the route. */
static inline void cm_resolve_address(struct rdma_cm_id *id, struct sockaddr_storage *address)
{
	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)address, 1000));
	CHECK_EQUAL(cm_take(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	CHECK_EQUAL(cm_take(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
}

static inline void cm_resolve(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_storage address = cm_address(text, port);

	cm_resolve_address(id, &address);
}

/* A queue pair with queues of its own (cm_qp.c creates them). */
static inline void cm_add_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 4, .max_recv_sge = 4},
	};

	CHECK(!softverbs_rdma_create_qp(id, NULL, &attr));
}

static inline struct rdma_conn_param cm_param(const void *private_data, uint8_t length)
{
	return (struct rdma_conn_param){.private_data = private_data,
					.private_data_len = length,
					.responder_resources = 4,
					.initiator_depth = 4,
					.retry_count = 7,
					.rnr_retry_count = 7};
}

/* Takes the next event, of any type; returns its type, and stores its id. */
static inline enum rdma_cm_event_type cm_next(struct rdma_event_channel *channel, struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	enum rdma_cm_event_type type;

	CHECK(test_readable(channel->fd, EVENT_WAIT_MS));
	CHECK(!softverbs_rdma_get_cm_event(channel, &event));
	type = event->event;
	*id = event->id;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return type;
}

/* Takes the next event, which must be of that type; returns its id. */
static inline struct rdma_cm_id *cm_take_id(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = cm_expect(channel, type);
	struct rdma_cm_id *id = event->id;

	CHECK(!softverbs_rdma_ack_cm_event(event));
	return id;
}

/* Takes the next request and gives it a queue pair; private data, if asked for, has 56 bytes. */
static inline struct rdma_cm_id *cm_take_request(struct rdma_event_channel *channel,
						 uint8_t *private_data)
{
	struct rdma_cm_event *event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	CHECK_EQUAL(event->param.conn.private_data_len, 56);
	if (private_data)
		memcpy(private_data, event->param.conn.private_data, 56);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	cm_add_qp(id);
	return id;
}

static inline void cm_close(struct rdma_cm_id *id)
{
	softverbs_rdma_destroy_qp(id);
	softverbs_rdma_destroy_srq(id);
	CHECK(!softverbs_rdma_destroy_id(id));
}

static inline void cm_close_ids(struct rdma_event_channel *channel, struct rdma_cm_id **ids)
{
	while (*ids)
		cm_close(*ids++);
	softverbs_rdma_destroy_event_channel(channel);
}

/* `cm_close_all(channel, id, ...)` closes the ids in this order, and then the channel, which has no other id any more. */
#define cm_close_all(channel, ...) cm_close_ids(channel, (struct rdma_cm_id *[]){__VA_ARGS__, NULL})

/* Everything that comes before a connection. */
static inline void cm_prepare(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	cm_resolve(id, text, port);
	cm_add_qp(id);
}

/* Connects with the usual parameters and does not wait for the answer; cm_accept() likewise. */
static inline void cm_connect(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = cm_param(NULL, 0);

	CHECK(!softverbs_rdma_connect(id, &param));
}

static inline void cm_accept(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = cm_param(NULL, 0);

	CHECK(!softverbs_rdma_accept(id, &param));
}

/* Asks for a connection, without waiting for the answer. */
static inline struct rdma_cm_id *cm_ask(struct rdma_event_channel *channel, const char *text, uint16_t port)
{
	struct rdma_cm_id *id = cm_id_open(channel);

	cm_prepare(id, text, port);
	cm_connect(id);
	return id;
}

/* Connects both ends of one process with itself or of two: an active and a passive id, ESTABLISHED. */
static inline struct rdma_cm_id *cm_connect_to(struct rdma_event_channel *channel, const char *text,
					       uint16_t port)
{
	struct rdma_cm_id *id = cm_ask(channel, text, port);

	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	return id;
}

static inline struct rdma_cm_id *cm_accept_from(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_take_request(channel, NULL);

	cm_accept(id);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	return id;
}

/* Asks for a connection, which must end in that event; returns the status of the event. */
static inline int cm_refusal_of(struct rdma_event_channel *channel, const char *text, uint16_t port,
				enum rdma_cm_event_type type)
{
	struct rdma_cm_id *id = cm_ask(channel, text, port);
	int status = cm_take(channel, type);

	cm_close(id);
	return status;
}

static inline void cm_expect_nothing_left(void)
{
	struct softverbs_counters counters;

	CHECK_EQUAL(softverbs_get_counters(&counters, sizeof(counters)), 0);
	CHECK_EQUAL(counters.qp_live, 0);
	CHECK_EQUAL(counters.cq_live, 0);
}

/*
 * Both ends of a connection in this process, each with an event channel: a listener on loopback, and the id that is to connect
 * to it. The test stores the id of the request in `passive`.
 */
struct cm_scene {
	struct rdma_event_channel *here, *there;
	struct rdma_cm_id *listener, *active, *passive;
	uint16_t port;
};

static inline struct cm_scene cm_open_scene(void)
{
	struct cm_scene scene = {.here = cm_channel_open(), .there = cm_channel_open()};

	alarm(TEST_SECONDS);
	scene.listener = cm_listen_on(scene.there, CM_LOOPBACK, 8, &scene.port);
	scene.active = cm_id_open(scene.here);
	return scene;
}

/* Has the active id ask for the connection. */
static inline void cm_scene_ask(struct cm_scene *scene)
{
	cm_prepare(scene->active, CM_LOOPBACK, scene->port);
	cm_connect(scene->active);
}

static inline void cm_scene_established(struct cm_scene *scene)
{
	CHECK_EQUAL(cm_take(scene->here, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(cm_take(scene->there, RDMA_CM_EVENT_ESTABLISHED), 0);
}

static inline void cm_close_scene(struct cm_scene *scene)
{
	cm_close(scene->active);
	if (scene->passive)
		cm_close(scene->passive);
	CHECK(!softverbs_rdma_destroy_id(scene->listener));
	softverbs_rdma_destroy_event_channel(scene->here);
	softverbs_rdma_destroy_event_channel(scene->there);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other connection manager sends whatever it likes: datagrams to a listener's port and in answer to a client's,
 * then frames on a link of the CM. Every id that an application gets can be destroyed, and nothing stays.
 *
 * First control byte: 1 our side connects, 2 in pieces, 4 the application rejects, 8 it does not answer at all, 16 the
 * peer hangs up first, 32 a datagram comes first, 64 all of it in RDMA_PS_UDP; second: the length of that datagram.
 */
#include "harness.h"

#include "core.h"
#include "link/link_internal.h"

#include "cm/cm_exports.h"
#include "cm/cm_wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT = 1, IN_PIECES = 2, REJECT = 4, SILENT = 8, HANG_UP = 16, DATAGRAM = 32, UDP = 64 };
enum { MAX_IDS = 16, RIGHT = 0xffff };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct rdma_event_channel *channel;
static struct rdma_cm_id *ids[MAX_IDS];
static int id_count;
static int datagram_fd, listener;
static struct sockaddr_in own = {.sin_family = AF_INET};

/* A listener of each port space, and what a client sends that does it right. */
static struct service {
	enum rdma_port_space ps;
	struct rdma_cm_id *id;
	struct sockaddr_in address;
	struct cm_request request;
} services[] = {{.ps = RDMA_PS_TCP}, {.ps = RDMA_PS_UDP}}, *service;

static struct sockaddr_in bound_address(int fd)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);

	FUZZ_CHECK(!getsockname(fd, (struct sockaddr *)&address, &length));
	return address;
}

/* What a client learns that does it right: the cookie for its address. */
static void learn_cookie(struct service *of)
{
	struct cm_request *request = &of->request;
	struct cm_datagram datagram = {
		.magic = CM_DATAGRAM_MAGIC, .version = CM_WIRE_VERSION, .kind = CM_DATAGRAM_REQUEST, .client_nonce = {'n'}};
	union ibv_gid gid;

	FUZZ_CHECK(sendto(datagram_fd, &datagram, sizeof(datagram), 0, (struct sockaddr *)&of->address,
			  sizeof(of->address)) == sizeof(datagram));
	fuzz_settle();
	FUZZ_CHECK(recv(datagram_fd, &datagram, sizeof(datagram), 0) == sizeof(datagram));
	gid_from_address((struct sockaddr *)&own, &gid);
	request->version = CM_WIRE_VERSION;
	request->datagrams = of->ps == RDMA_PS_UDP;
	memcpy(request->source, gid.raw, sizeof(gid.raw));
	gid_from_address((struct sockaddr *)&of->address, &gid);
	memcpy(request->destination, gid.raw, sizeof(gid.raw));
	request->source_port = own.sin_port;
	request->destination_port = of->address.sin_port;
	memcpy(request->client_nonce, datagram.client_nonce, LINK_NONCE_BYTES);
	memcpy(request->cookie, datagram.cookie, CM_COOKIE_BYTES);
}

static void open_service(struct service *of)
{
	of->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	FUZZ_CHECK(!softverbs_rdma_create_id(channel, &of->id, NULL, of->ps));
	FUZZ_CHECK(!softverbs_rdma_bind_addr(of->id, (struct sockaddr *)&of->address));
	FUZZ_CHECK(!softverbs_rdma_listen(of->id, 8));
	of->address.sin_port = softverbs_rdma_get_src_port(of->id);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_seeds_if_asked();
	setenv("SOFTVERBS_ADDRESS", "127.0.0.1", 1);
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	channel = softverbs_rdma_create_event_channel();
	FUZZ_CHECK(channel);
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	open_service(&services[0]);
	open_service(&services[1]);
	datagram_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	FUZZ_CHECK(!bind(datagram_fd, (struct sockaddr *)&own, sizeof(own)));
	own = bound_address(datagram_fd);
	listener = fuzz_listen();
	fuzz_settle();
	learn_cookie(&services[0]);
	learn_cookie(&services[1]);
	return 0;
}

static void forget_id(const struct rdma_cm_id *id)
{
	for (int i = 0; i < id_count; i++)
		if (ids[i] == id)
			ids[i] = ids[--id_count];
}

/* The application: takes its events and does what they ask for. */
static void serve_events(uint8_t control)
{
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4, .qp_num = 77};
	struct rdma_cm_event *event;

	while (!softverbs_rdma_get_cm_event(channel, &event)) {
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;

		softverbs_rdma_ack_cm_event(event);
		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			if (id_count == MAX_IDS) {
				softverbs_rdma_destroy_id(id);
				continue;
			}
			ids[id_count++] = id;
			if (control & SILENT)
				continue;
			if (control & REJECT)
				softverbs_rdma_reject(id, "no", 2);
			else
				softverbs_rdma_accept(id, &param);
		} else if (type == RDMA_CM_EVENT_CONNECT_RESPONSE && !(control & SILENT)) {
			if (control & REJECT)
				softverbs_rdma_reject(id, NULL, 0);
			else
				softverbs_rdma_establish(id);
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			softverbs_rdma_disconnect(id);
		} else if (type == RDMA_CM_EVENT_REJECTED && control & SILENT) {
			forget_id(id);
			softverbs_rdma_destroy_id(id);
		}
		fuzz_settle();
	}
}

static void make_request_right(struct frame *frame, uint8_t *payload, size_t bytes)
{
	struct cm_request *request = (struct cm_request *)payload;

	if (frame->op != CM_FRAME_REQUEST || bytes < sizeof(*request) || request->source_port != RIGHT)
		return;
	memcpy(request, &service->request, offsetof(struct cm_request, queue_pair));
}

static int connect_in(void)
{
	int fds[2];

	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	link_accept_unix(fds[0], 0);
	fuzz_send_client_handshake(fds[1], LINK_KIND_CM);
	fuzz_settle_with(fds[1]);
	return fds[1];
}

/* The listener's answer to our client: with its nonce and our names where the input says so. */
static void answer_datagram(const uint8_t *bytes, size_t length)
{
	struct cm_datagram asked, answer;
	struct sockaddr_in client;
	socklen_t size = sizeof(client);
	uint8_t copy[256];

	if (recvfrom(datagram_fd, &asked, sizeof(asked), 0, (struct sockaddr *)&client, &size) != sizeof(asked))
		return;
	memcpy(copy, bytes, length);
	if (length == sizeof(answer)) {
		memcpy(&answer, bytes, length);
		if (answer.process_port == RIGHT) {
			answer.process_port = htons(fuzz_peer_port());
			memcpy(answer.client_nonce, asked.client_nonce, LINK_NONCE_BYTES);
			memset(answer.process_nonce, 0, LINK_NONCE_BYTES);
			answer.process_nonce[0] = 'f';
		}
		memcpy(copy, &answer, length);
	}
	FUZZ_CHECK(sendto(datagram_fd, copy, length, 0, (struct sockaddr *)&client, size) == (ssize_t)length);
	fuzz_settle();
}

/* -1 if the client does not come. */
static int connect_out(const uint8_t *datagram, size_t length, uint8_t control)
{
	struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4, .qp_num = 78, .retry_count = 7};
	int fd;

	FUZZ_CHECK(!softverbs_rdma_create_id(channel, &ids[id_count], NULL, service->ps));
	id_count++;
	FUZZ_CHECK(!softverbs_rdma_resolve_addr(ids[0], NULL, (struct sockaddr *)&own, 1000));
	FUZZ_CHECK(!softverbs_rdma_resolve_route(ids[0], 1000));
	FUZZ_CHECK(!softverbs_rdma_connect(ids[0], &param));
	serve_events(control);
	fuzz_settle();
	answer_datagram(datagram, length);
	fd = fuzz_accept(listener);
	if (fd < 0)
		return fd;
	fuzz_send_server_handshake(fd, fuzz_peer_nonce);
	fuzz_settle_with(fd);
	return fd;
}

static void send_datagram(const uint8_t *bytes, size_t length)
{
	uint8_t answer[sizeof(struct cm_datagram) + 1];
	ssize_t got;

	FUZZ_CHECK(sendto(datagram_fd, bytes, length, 0, (struct sockaddr *)&service->address,
			  sizeof(service->address)) == (ssize_t)length);
	fuzz_settle();
	got = recv(datagram_fd, answer, sizeof(answer), 0);
	FUZZ_CHECK(got < 0 || (size_t)got <= length); /* nobody is helped to multiply traffic */
}

static void throw_away_datagrams(void)
{
	uint8_t byte;

	while (recv(datagram_fd, &byte, 1, 0) >= 0)
		;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t stream[FUZZ_MAX_INPUT];
	size_t datagram, first;
	uint8_t control;
	int fd;

	if (size < FUZZ_CONTROL_BYTES || size > sizeof(stream))
		return 0;
	control = data[0];
	service = &services[control & UDP ? 1 : 0];
	datagram = control & (DATAGRAM | CONNECT) ? data[1] : 0;
	if (datagram > size - FUZZ_CONTROL_BYTES)
		datagram = size - FUZZ_CONTROL_BYTES;
	fuzz_begin();
	data += FUZZ_CONTROL_BYTES;
	size -= FUZZ_CONTROL_BYTES + datagram;
	if (control & CONNECT) {
		fd = connect_out(data, datagram, control);
	} else {
		if (control & DATAGRAM)
			send_datagram(data, datagram);
		fd = connect_in();
	}
	if (fd >= 0) {
		memcpy(stream, data + datagram, size);
		fuzz_resolve_frames(stream, size, NULL, make_request_right);
		first = sizeof(struct frame) + (control & CONNECT ? sizeof(struct cm_reply) : sizeof(struct cm_request));
		if (first > size)
			first = size;
		fuzz_send(fd, stream, first, control & IN_PIECES);
		serve_events(control);
		fuzz_send(fd, stream + first, size - first, control & IN_PIECES);
		if (control & HANG_UP)
			shutdown(fd, SHUT_RDWR);
		fuzz_settle();
		serve_events(control);
	}
	fuzz_pass_time(3000000000ull);
	fuzz_settle();
	serve_events(control);
	while (id_count)
		FUZZ_CHECK(!softverbs_rdma_destroy_id(ids[--id_count]));
	for (fuzz_settle(); fd >= 0; fd = fuzz_accept(listener))
		close(fd);
	serve_events(SILENT);
	FUZZ_CHECK(!id_count);
	throw_away_datagrams();
	fuzz_end();
	return 0;
}

static void add_request(struct fuzz_stream *stream)
{
	struct cm_request request = {.version = CM_WIRE_VERSION,
				     .source_port = RIGHT,
				     .queue_pair = {.number = 99, .responder_resources = 1, .initiator_depth = 1}};

	fuzz_add_frame(stream, (struct frame){.op = CM_FRAME_REQUEST, .length = sizeof(request)}, &request);
}

static void add_op(struct fuzz_stream *stream, enum cm_frame_op op, uint32_t length)
{
	fuzz_add_frame(stream, (struct frame){.op = op, .length = length}, NULL);
}

void fuzz_write_seeds(void)
{
	struct cm_datagram datagram = {
		.magic = CM_DATAGRAM_MAGIC, .version = CM_WIRE_VERSION, .kind = CM_DATAGRAM_REQUEST};
	static const uint8_t behaviours[] = {0, UDP, UDP | REJECT, UDP | SILENT, REJECT, SILENT, HANG_UP, IN_PIECES, HANG_UP | SILENT, REJECT | HANG_UP};
	struct fuzz_stream stream;
	char name[32];

	for (size_t i = 0; i < sizeof(behaviours); i++) {
		stream = fuzz_stream(behaviours[i], 0);
		add_request(&stream);
		add_op(&stream, CM_FRAME_READY, 0);
		add_op(&stream, CM_FRAME_DISCONNECT, 0);
		add_op(&stream, CM_FRAME_DISCONNECTED, 0);
		snprintf(name, sizeof(name), "passive-%zu", i);
		fuzz_seed(name, stream.bytes, stream.length);
		stream = fuzz_stream(behaviours[i] | DATAGRAM, sizeof(datagram));
		fuzz_add(&stream, &datagram, sizeof(datagram));
		add_request(&stream);
		add_op(&stream, CM_FRAME_REJECT, sizeof(struct cm_reject));
		snprintf(name, sizeof(name), "datagram-%zu", i);
		fuzz_seed(name, stream.bytes, stream.length);
		for (enum cm_frame_op op = CM_FRAME_REPLY; op <= CM_FRAME_BUSY; op++) {
			datagram.kind = CM_DATAGRAM_REPLY;
			datagram.process_port = RIGHT;
			stream = fuzz_stream(behaviours[i] | CONNECT, sizeof(datagram));
			fuzz_add(&stream, &datagram, sizeof(datagram));
			add_op(&stream, op,
			       op == CM_FRAME_REPLY ? sizeof(struct cm_reply)
						    : op == CM_FRAME_REJECT ? sizeof(struct cm_reject) : 0);
			add_op(&stream, CM_FRAME_DISCONNECT, 0);
			snprintf(name, sizeof(name), "active-%d-%zu", op, i);
			fuzz_seed(name, stream.bytes, stream.length);
			datagram = (struct cm_datagram){
				.magic = CM_DATAGRAM_MAGIC, .version = CM_WIRE_VERSION, .kind = CM_DATAGRAM_REQUEST};
		}
	}
}

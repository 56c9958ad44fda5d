/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the process that listens on a port of the rdma_cm port space, with one datagram each way (cm_wire.h). The
 * server keeps no state for a request. Its reply carries a cookie, an HMAC over nonce, address and ports under a key of
 * the process; the client returns the cookie in CM_FRAME_REQUEST and so proves that it can receive at the address that
 * it claims.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm/cm.h"
#include "engine.h"
#include "fault/fault.h"
#include "link/ports.h"
#include "process/log.h"
#include "process/secret.h"
#include "process/sha256.h"

enum { MAX_ATTEMPTS = 6, MAX_REFUSED_ATTEMPTS = 3, COOKIE_KEY_BYTES = 32 };
#define FIRST_WAIT_NS 100000000ull /* doubles with each attempt: 6.3 s in total, 0.3 s if refused */

struct cm_rendezvous_state {
	uint8_t key[COOKIE_KEY_BYTES]; /* signs the cookies */
	bool drawn;
	atomic_bool told; /* that a peer is of another version, whoever that may be */
};

ENGINE_PART(cm_rendezvous, NULL);

static const uint8_t *cookie_key(void)
{
	if (!engine->cm_rendezvous->drawn) {
		random_bytes(engine->cm_rendezvous->key, sizeof(engine->cm_rendezvous->key));
		engine->cm_rendezvous->drawn = true;
	}
	return engine->cm_rendezvous->key;
}

static void make_cookie(const uint8_t *client_nonce, const union ibv_gid *client,
			uint16_t client_port, uint16_t service_port, uint8_t *cookie)
{
	uint8_t mac[SHA256_BYTES];
	struct {
		uint8_t nonce[LINK_NONCE_BYTES];
		union ibv_gid client;
		uint16_t client_port, service_port;
	} __attribute__((packed)) text;

	memcpy(text.nonce, client_nonce, sizeof(text.nonce));
	text.client = *client;
	text.client_port = client_port;
	text.service_port = service_port;
	hmac_sha256(cookie_key(), COOKIE_KEY_BYTES, &text, sizeof(text), mac);
	memcpy(cookie, mac, CM_COOKIE_BYTES);
}

bool cm_cookie_is_valid(const struct cm_request *request)
{
	uint8_t cookie[CM_COOKIE_BYTES];
	union ibv_gid client;

	memcpy(client.raw, request->source, sizeof(client.raw));
	make_cookie(request->client_nonce, &client, request->source_port, request->destination_port,
		    cookie);
	return secure_equal(cookie, request->cookie, CM_COOKIE_BYTES);
}

/* `length` is the length before truncation (MSG_TRUNC), so a datagram that is too long is refused. */
static bool is_datagram(const struct cm_datagram *datagram, ssize_t length,
			enum cm_datagram_kind kind)
{
	if (length < (ssize_t)offsetof(struct cm_datagram, kind) || datagram->magic != CM_DATAGRAM_MAGIC)
		return false;
	if (datagram->version != CM_WIRE_VERSION) {
		if (!atomic_exchange(&engine->cm_rendezvous->told, true))
			log_error("cm: a peer speaks version %d of the protocol, and this process version %d: use one build on both "
				  "ends",
				  datagram->version, CM_WIRE_VERSION);
		return false;
	}
	return length == sizeof(*datagram) && datagram->kind == kind;
}

/*
 * The listener that the client asks. Its address and port are signed with each datagram, so a MAC that was made for one
 * listener is worthless with another.
 */
struct asked {
	union ibv_gid address;
	uint16_t port; /* in network order */
};

struct signed_text {
	uint8_t datagram[offsetof(struct cm_datagram, mac)];
	union ibv_gid address;
	uint16_t port;
} __attribute__((packed));

static struct signed_text text_of(const struct cm_datagram *datagram, const struct asked *asked)
{
	struct signed_text text = {.address = asked->address, .port = asked->port};

	memcpy(text.datagram, datagram, sizeof(text.datagram));
	return text;
}

static void sign(const struct cm_datagram *datagram, const struct asked *asked, uint8_t mac[SHA256_BYTES])
{
	struct signed_text text = text_of(datagram, asked);

	secret_sign(&text, sizeof(text), mac);
}

/* The server's part: with a secret, returns true if a client has signed with one that is accepted, and with which. */
static bool is_client_proved(const struct cm_datagram *datagram, const struct asked *asked, const union ibv_gid *client,
			     struct secret *secret)
{
	struct signed_text text = text_of(datagram, asked);

	secret->length = 0;
	if (!secret_is_set())
		return gid_is_local(client); /* whose rights the link checks later */
	return secret_that_signed(datagram->key_id, &text, sizeof(text), datagram->mac, secret);
}

/* The client's part: with a secret, returns true if the server has signed with it. */
static bool is_server_proved(const struct cm_datagram *datagram, const struct asked *asked, const union ibv_gid *server)
{
	uint8_t mac[SHA256_BYTES];

	if (!secret_is_set())
		return gid_is_local(server);
	sign(datagram, asked, mac);
	return secure_equal(mac, datagram->mac, sizeof(mac));
}

static struct asked asked_by(const struct cm_id *client)
{
	const struct sockaddr *destination = &client->id.route.addr.dst_addr;
	struct asked asked = {.port = cm_address_port(destination)};

	gid_from_address(destination, &asked.address);
	return asked;
}

/*
 * Returns the address that a request was sent to, as the kernel reports it. Without such a report the address is zeros,
 * which no client signs.
 */
static struct asked asked_of(const struct cm_id *listener, struct msghdr *message)
{
	struct asked asked = {.port = cm_address_port(&listener->id.route.addr.src_addr)};

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
			struct sockaddr_in v4 = {.sin_family = AF_INET};
			struct in_pktinfo info;

			memcpy(&info, CMSG_DATA(header), sizeof(info));
			v4.sin_addr = info.ipi_addr;
			gid_from_address((struct sockaddr *)&v4, &asked.address);
		} else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
			struct in6_pktinfo info;

			memcpy(&info, CMSG_DATA(header), sizeof(info));
			memcpy(asked.address.raw, &info.ipi6_addr, sizeof(asked.address.raw));
		}
	}
	return asked;
}

/* Sends each answer from the address that was asked, by passing the IP_PKTINFO of the request back. */
static void answer_requests(void *owner, uint32_t events)
{
	struct cm_id *listener = owner;
	struct cm_datagram datagram;
	struct sockaddr_storage from;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo)) +
			   CMSG_SPACE(sizeof(struct in_pktinfo))];
	} control;
	struct iovec iov = {.iov_base = &datagram, .iov_len = sizeof(datagram)};
	struct msghdr message = {.msg_name = &from, .msg_iov = &iov, .msg_iovlen = 1};
	union ibv_gid client;
	struct secret secret;
	struct signed_text text;
	struct asked asked;
	ssize_t length;

	(void)events;
	for (int i = 0; i < 64; i++) {
		message.msg_namelen = sizeof(from);
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control);
		length = recvmsg(listener->udp_watch.fd, &message, MSG_TRUNC);
		if (length < 0)
			return;
		if (!is_datagram(&datagram, length, CM_DATAGRAM_REQUEST) ||
		    fault_check(FAULT_CM_DATAGRAM, .kind = CM_DATAGRAM_REQUEST))
			continue;
		gid_from_address((struct sockaddr *)&from, &client);
		asked = asked_of(listener, &message);
		if (!is_client_proved(&datagram, &asked, &client, &secret)) {
			log_info("cm: a request does not prove our secret");
			continue;
		}
		make_cookie(datagram.client_nonce, &client,
			    cm_address_port((struct sockaddr *)&from),
			    cm_address_port(&listener->id.route.addr.src_addr), datagram.cookie);
		datagram.kind = CM_DATAGRAM_REPLY;
		datagram.process_port = htons((uint16_t)process_port_at(0));
		memcpy(datagram.process_nonce, process_nonce(), LINK_NONCE_BYTES);
		text = text_of(&datagram, &asked);
		secret_sign_with(&secret, &text, sizeof(text), datagram.mac);
		if (sendmsg(listener->udp_watch.fd, &message, 0) < 0)
			log_debug("cm: no answer sent: errno %d", errno);
	}
}

int cm_serve_rendezvous(struct cm_id *listener)
{
	listener->udp_watch.callback = answer_requests;
	return progress_watch_set(&listener->udp_watch, EPOLLIN);
}

static void send_request(struct cm_id *id)
{
	struct cm_datagram datagram = {.magic = CM_DATAGRAM_MAGIC,
				       .version = CM_WIRE_VERSION,
				       .kind = CM_DATAGRAM_REQUEST};
	struct asked asked = asked_by(id);

	memcpy(datagram.client_nonce, id->client_nonce, LINK_NONCE_BYTES);
	memcpy(datagram.key_id, secret_own_id(), SECRET_ID_BYTES);
	sign(&datagram, &asked, datagram.mac);
	if (send(id->udp_watch.fd, &datagram, sizeof(datagram), 0) < 0)
		log_debug("cm: request not sent: errno %d", errno);
	progress_timer_set(&id->timer, progress_now_ns() + (FIRST_WAIT_NS << id->attempts));
	id->attempts++;
}

static void on_no_reply(void *owner)
{
	struct cm_id *id = owner;

	if (id->attempts < MAX_ATTEMPTS) {
		send_request(id);
		return;
	}
	if (secret_is_set())
		log_warn("cm: no answer of port %d: nobody is there, or not with our secret",
			 ntohs(cm_address_port(&id->id.route.addr.dst_addr)));
	cm_hold_port(id);
	cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void on_reply(void *owner, uint32_t events)
{
	struct cm_id *id = owner;
	struct cm_datagram datagram;
	ssize_t length = recv(id->udp_watch.fd, &datagram, sizeof(datagram), MSG_TRUNC);
	struct asked asked = asked_by(id);

	(void)events;
	if (length < 0) {
		if (errno == EAGAIN || errno == EINTR)
			return;
		/*
		 * ICMP says that nobody has the port; the CM of a host then answers that nobody listens. Some programs
		 * listen anew for each connection and rely on the time that hardware takes, so the request is repeated
		 * before it fails.
		 */
		if (errno == ECONNREFUSED && id->attempts < MAX_REFUSED_ATTEMPTS)
			return;
		cm_hold_port(id);
		if (errno == ECONNREFUSED)
			cm_fail_connect(id, RDMA_CM_EVENT_REJECTED, CM_REJECT_NO_LISTENER);
		else
			cm_fail_connect(id, RDMA_CM_EVENT_UNREACHABLE, -errno);
		return;
	}
	if (!is_datagram(&datagram, length, CM_DATAGRAM_REPLY) ||
	    memcmp(datagram.client_nonce, id->client_nonce, LINK_NONCE_BYTES) ||
	    !is_server_proved(&datagram, &asked, &id->path.dgid) ||
	    fault_check(FAULT_CM_DATAGRAM, .kind = CM_DATAGRAM_REPLY))
		return;
	cm_hold_port(id);
	progress_timer_cancel(&id->timer);
	id->process_port = ntohs(datagram.process_port);
	memcpy(id->process_nonce, datagram.process_nonce, LINK_NONCE_BYTES);
	memcpy(id->cookie, datagram.cookie, CM_COOKIE_BYTES);
	cm_open_link(id);
}

static void on_no_secret(void *owner)
{
	cm_fail_connect(owner, RDMA_CM_EVENT_UNREACHABLE, -EACCES);
}

int cm_start_rendezvous(struct cm_id *id)
{
	const struct sockaddr *destination = &id->id.route.addr.dst_addr;
	int error;

	if (connect(id->udp_watch.fd, destination, cm_address_length(destination)))
		return -errno;
	id->udp_watch.callback = on_reply;
	error = progress_watch_set(&id->udp_watch, EPOLLIN);
	if (error)
		return error;
	random_bytes(id->client_nonce, sizeof(id->client_nonce));
	id->attempts = 0;
	id->state = CM_LOOKING_UP;
	if (!link_may_reach(&id->path.dgid)) {
		id->timer.callback = on_no_secret;
		progress_timer_set(&id->timer, 0);
		return 0;
	}
	id->timer.callback = on_no_reply;
	send_request(id);
	return 0;
}

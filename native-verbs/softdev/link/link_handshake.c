/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HELLO     client -> server   magic, version, kind, boot nonce, challenge
 * CHALLENGE server -> client   magic, version, 0, boot nonce, challenge
 * PROOF     client -> server   key id, MAC("client" ...)
 * WELCOME   server -> client   MAC("server" ...)
 *
 * The client proves first, so that a client without the secret gets no MAC of the server to try secrets against. The
 * MACs cover both challenges, both boot nonces, the kind, and where the server listens: over TCP its addresses and
 * port, on a unix socket its name, as the kernel reports it to both ends, and the network namespace. A proof made for
 * one listener is therefore worthless with another. The key id names the secret, so that one MAC is computed, however many
 * secrets the server accepts. Ends of different versions refuse each other by name. Without a secret (never over TCP) the MACs are zeros, and both ends
 * must have the same uid. The server may answer anything with REFUSED, which carries an errno.
 */
#include "core.h"
#include "engine.h"
#include "link/link_internal.h"
#include "link/link_listen.h"
#include "process/log.h"
#include "process/secret.h"
#include "process/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct link_handshake_state {
	bool told;
};

ENGINE_PART(link_handshake, NULL);

struct signed_text {
	char role[8];
	uint8_t client_nonce[LINK_NONCE_BYTES], server_nonce[LINK_NONCE_BYTES];
	uint8_t client_challenge[LINK_NONCE_BYTES], server_challenge[LINK_NONCE_BYTES];
	union ibv_gid client, server; /* over TCP; zeros otherwise */
	uint32_t kind;
	uint32_t server_port;		   /* over TCP; 0 otherwise */
	struct link_place server_place;	   /* on a unix socket; zeros otherwise */
};

static struct signed_text text_of(const struct link *link, bool client, const char *role)
{
	struct signed_text text = {
		.client = client ? link->own_gid : link->peer.gid,
		.server = client ? link->peer.gid : link->own_gid,
		.kind = link->kind,
		.server_port = link->tcp_port,
	};

	strncpy(text.role, role, sizeof(text.role) - 1);
	if (!link->peer.is_tcp)
		text.server_place = link_listener_place(link->watch.fd, client);
	memcpy(text.client_nonce, client ? process_nonce() : link->peer.nonce, LINK_NONCE_BYTES);
	memcpy(text.server_nonce, client ? link->peer.nonce : process_nonce(), LINK_NONCE_BYTES);
	memcpy(text.client_challenge, client ? link->own_challenge : link->peer_challenge,
	       LINK_NONCE_BYTES);
	memcpy(text.server_challenge, client ? link->peer_challenge : link->own_challenge,
	       LINK_NONCE_BYTES);
	return text;
}

/* The client's part: with a process that has proved another secret than this one's own, that secret holds. */
static struct link_proof sign_as_client(const struct link *link, const char *role)
{
	struct signed_text text = text_of(link, true, role);
	struct secret secret = secret_shared_with(link->peer.nonce);
	struct link_proof proof;

	memcpy(proof.key_id, secret.key_id, sizeof(proof.key_id));
	secret_sign_with(&secret, &text, sizeof(text), proof.mac);
	return proof;
}

static int send_hello(struct link *link, uint8_t op)
{
	struct frame frame = {.op = op, .length = sizeof(struct link_hello)};
	struct link_hello hello = {.magic = LINK_MAGIC, .version = LINK_VERSION, .kind = link->kind};

	random_bytes(link->own_challenge, sizeof(link->own_challenge));
	memcpy(hello.nonce, process_nonce(), sizeof(hello.nonce));
	memcpy(hello.challenge, link->own_challenge, sizeof(hello.challenge));
	return -link_send_now(link, &frame, &hello);
}

int handshake_start(struct link *link)
{
	return send_hello(link, FRAME_HELLO);
}

static void take_hello(struct link *link, const struct link_hello *hello)
{
	memcpy(link->peer.nonce, hello->nonce, LINK_NONCE_BYTES);
	memcpy(link->peer_challenge, hello->challenge, LINK_NONCE_BYTES);
}

static int on_hello(struct link *link, const struct link_hello *hello)
{
	link->kind = hello->kind;
	take_hello(link, hello);
	if (hello->kind != LINK_KIND_QP && hello->kind != LINK_KIND_CM) {
		link_refuse(link, EPROTO);
		return 0;
	}
	link->state = LINK_EXPECT_PROOF;
	return send_hello(link, FRAME_CHALLENGE);
}

static int on_challenge(struct link *link, const struct link_hello *hello)
{
	struct frame frame = {.op = FRAME_PROOF, .length = sizeof(struct link_proof)};
	struct link_proof proof;

	take_hello(link, hello);
	proof = sign_as_client(link, "client");
	link->state = LINK_EXPECT_WELCOME;
	return -link_send_now(link, &frame, &proof);
}

static int on_proof(struct link *link, const struct link_proof *proof)
{
	struct frame welcome = {.op = FRAME_WELCOME, .length = SHA256_BYTES};
	struct signed_text text = text_of(link, false, "client");
	struct secret secret;
	uint8_t mac[SHA256_BYTES];
	int error;

	if (!secret_that_signed(proof->key_id, &text, sizeof(text), proof->mac, &secret)) {
		link_refuse(link, EACCES);
		return 0;
	}
	secret_proved_by(link->peer.nonce, &secret);
	text = text_of(link, false, "server");
	secret_sign_with(&secret, &text, sizeof(text), mac);
	error = -link_send_now(link, &welcome, mac);
	if (error)
		return error;
	stranger_leave(&link->stranger);
	link_opened(link);
	link_incoming[link->kind](link);
	return 0;
}

static int not_our_secret(const struct link *link)
{
	log_error("%s does not know our secret: give both ends the same one", link_peer_name(link).text);
	return EACCES;
}

static int on_welcome(struct link *link, const uint8_t *mac)
{
	if (!secure_equal(sign_as_client(link, "server").mac, mac, SHA256_BYTES))
		return not_our_secret(link);
	link_opened(link);
	if (link->ops && link->ops->on_open)
		link->ops->on_open(link, link->owner);
	return 0;
}

/* Said once, since any process of the host may claim to be of any version. `version` is 0 if the peer has not told its own. */
static int other_version(const struct link *link, int version)
{
	char its[32] = "another version";

	if (version)
		snprintf(its, sizeof(its), "version %d", version);
	if (!engine->link_handshake->told)
		log_error("%s speaks %s of the link protocol, and this process version %d: use one build on both ends",
			  link_peer_name(link).text, its, LINK_VERSION);
	engine->link_handshake->told = true;
	return EPROTONOSUPPORT;
}

static int on_refused(const struct link *link, uint16_t status)
{
	if (status == EPROTONOSUPPORT)
		return other_version(link, 0);
	if (status != EACCES)
		return EPROTO; /* some errnos have another meaning for a link */
	return link->state == LINK_EXPECT_WELCOME ? not_our_secret(link) : EACCES;
}

int handshake_on_frame(struct link *link, const struct frame *frame, const void *payload)
{
	const struct link_hello *hello = payload;
	bool expects_hello = link->state == LINK_EXPECT_HELLO && frame->op == FRAME_HELLO;
	bool expects_challenge = link->state == LINK_EXPECT_CHALLENGE && frame->op == FRAME_CHALLENGE;

	if (frame->op == FRAME_REFUSED && (link->state == LINK_EXPECT_CHALLENGE || link->state == LINK_EXPECT_WELCOME))
		return on_refused(link, frame->status);
	if (expects_hello || expects_challenge) {
		if (frame->length < offsetof(struct link_hello, kind) || hello->magic != LINK_MAGIC)
			return EPROTO;
		if (hello->version != LINK_VERSION) {
			int error = other_version(link, hello->version);

			if (expects_challenge)
				return error;
			link_refuse(link, error);
			return 0;
		}
		if (frame->length != sizeof(*hello))
			return EPROTO;
		return expects_hello ? on_hello(link, hello) : on_challenge(link, hello);
	}
	if (frame->op == FRAME_PROOF && link->state == LINK_EXPECT_PROOF && frame->length == sizeof(struct link_proof))
		return on_proof(link, payload);
	if (frame->op == FRAME_WELCOME && link->state == LINK_EXPECT_WELCOME && frame->length == SHA256_BYTES)
		return on_welcome(link, payload);
	return EPROTO;
}

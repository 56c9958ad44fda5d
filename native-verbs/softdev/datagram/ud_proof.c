/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_proof.h"

#include "core.h"
#include "datagram/ud_wire.h"
#include "link/link_listen.h"
#include "process/secret.h"
#include "process/sha256.h"
#include "process/user.h"

#include <errno.h>
#include <string.h>

bool ud_may_talk(int fd, struct ucred *peer)
{
	socklen_t length = sizeof(*peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, peer, &length) &&
	       (secret_is_set() ? link_knows_its_place() : user_is_own(peer->uid));
}

static void sign(const struct ud_proof *proof, int fd, bool is_sender, const char *role, uint8_t mac[SHA256_BYTES])
{
	struct {
		char role[16];
		uint8_t sender_challenge[UD_CHALLENGE_BYTES], receiver_challenge[UD_CHALLENGE_BYTES];
		struct link_place place;
	} text = {.place = link_listener_place(fd, is_sender)};

	strncpy(text.role, role, sizeof(text.role) - 1);
	memcpy(text.sender_challenge, is_sender ? proof->own_challenge : proof->peer_challenge, UD_CHALLENGE_BYTES);
	memcpy(text.receiver_challenge, is_sender ? proof->peer_challenge : proof->own_challenge, UD_CHALLENGE_BYTES);
	secret_sign(&text, sizeof(text), mac);
}

static struct ud_proof_message message_of(enum ud_proof_kind kind)
{
	return (struct ud_proof_message){.magic = UD_MAGIC, .version = UD_WIRE_VERSION, .kind = kind};
}

/* 0 or -errno. A full socket is an error, too: an honest peer takes such short messages at once. */
static int say(int fd, const struct ud_proof_message *message)
{
	return send(fd, message, sizeof(*message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Returns 1 for a message of that kind, 0 if none has arrived, or -errno. */
static int hear(int fd, enum ud_proof_kind kind, struct ud_proof_message *message)
{
	ssize_t length = recv(fd, message, sizeof(*message), MSG_DONTWAIT | MSG_TRUNC);

	if (length < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return length == sizeof(*message) && message->magic == UD_MAGIC && message->version == UD_WIRE_VERSION &&
			       message->kind == kind
		       ? 1
		       : -EPROTO;
}

int ud_proof_begin(struct ud_proof *proof, int fd)
{
	struct ud_proof_message challenge = message_of(UD_PROOF_CHALLENGE);

	random_bytes(proof->own_challenge, UD_CHALLENGE_BYTES);
	memcpy(challenge.challenge, proof->own_challenge, UD_CHALLENGE_BYTES);
	return say(fd, &challenge);
}

int ud_proof_receiver(struct ud_proof *proof, int fd)
{
	struct ud_proof_message told, welcome = message_of(UD_PROOF_WELCOME);
	uint8_t mac[SHA256_BYTES];
	int result = hear(fd, UD_PROOF_PROOF, &told);

	if (result <= 0)
		return result;
	memcpy(proof->peer_challenge, told.challenge, UD_CHALLENGE_BYTES);
	sign(proof, fd, false, "ud sender", mac);
	if (!secure_equal(mac, told.mac, sizeof(mac)))
		return -EACCES;
	sign(proof, fd, false, "ud receiver", welcome.mac);
	result = say(fd, &welcome);
	return result ? result : 1;
}

int ud_proof_sender(struct ud_proof *proof, int fd)
{
	struct ud_proof_message told, own = message_of(UD_PROOF_PROOF);
	uint8_t mac[SHA256_BYTES];
	int result = hear(fd, proof->proved_own ? UD_PROOF_WELCOME : UD_PROOF_CHALLENGE, &told);

	if (result <= 0)
		return result;
	if (proof->proved_own) {
		sign(proof, fd, true, "ud receiver", mac);
		return secure_equal(mac, told.mac, sizeof(mac)) ? 1 : -EACCES;
	}
	memcpy(proof->peer_challenge, told.challenge, UD_CHALLENGE_BYTES);
	random_bytes(proof->own_challenge, UD_CHALLENGE_BYTES);
	memcpy(own.challenge, proof->own_challenge, UD_CHALLENGE_BYTES);
	sign(proof, fd, true, "ud sender", own.mac);
	proof->proved_own = true;
	return say(fd, &own);
}

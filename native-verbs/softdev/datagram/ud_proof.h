/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages by which both ends of a unix connection for datagrams prove the secret before the first datagram:
 *
 *   receiver -> sender   CHALLENGE  challenge
 *   sender -> receiver   PROOF      challenge, MAC("ud sender" ...)
 *   receiver -> sender   WELCOME    MAC("ud receiver" ...)
 *
 * The MACs cover both challenges and the place where the receiver listens (link_listen.h).
 */
#ifndef SOFTDEV_UD_PROOF_H
#define SOFTDEV_UD_PROOF_H

#include <stdbool.h>
#include <stdint.h>

struct ucred;

/*
 * Returns true if the peer may be talked to: it is of the same user, or there is a secret, which it then has to prove.
 * Stores who the peer is.
 */
bool ud_may_talk(int fd, struct ucred *peer);

enum { UD_CHALLENGE_BYTES = 16 };

enum ud_proof_kind { UD_PROOF_CHALLENGE = 1, UD_PROOF_PROOF, UD_PROOF_WELCOME };

struct ud_proof_message {
	uint32_t magic;
	uint8_t version, kind, reserved[2];
	uint8_t challenge[UD_CHALLENGE_BYTES];
	uint8_t mac[32];
};

/* The state of one end; begins as zeros. */
struct ud_proof {
	uint8_t own_challenge[UD_CHALLENGE_BYTES], peer_challenge[UD_CHALLENGE_BYTES];
	bool proved_own; /* the sender has sent its proof */
};

/* Sends the challenge of the receiver, which begins. 0 or -errno. */
int ud_proof_begin(struct ud_proof *proof, int fd);
/*
 * Handle a message that has arrived. Return 1 if the peer has proved that it knows the secret, 0 if it has not yet, or
 * -errno if it cannot any more. Progress thread.
 */
int ud_proof_receiver(struct ud_proof *proof, int fd);
int ud_proof_sender(struct ud_proof *proof, int fd);

#endif

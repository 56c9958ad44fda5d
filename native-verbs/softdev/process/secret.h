/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The secret that peers must prove: softverbs_set_secret(), SOFTVERBS_SECRET or SOFTVERBS_SECRET_FILE. A process that
 * serves several applications accepts their secrets beside its own, and answers each peer with the one that it proves.
 */
#ifndef SOFTDEV_SECRET_H
#define SOFTDEV_SECRET_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MIN_SECRET_BYTES = 16, MAX_SECRET_BYTES = 256, SECRET_ID_BYTES = 16 };

struct secret {
	uint8_t bytes[MAX_SECRET_BYTES];
	size_t length;			 /* 0 if there is none */
	uint8_t key_id[SECRET_ID_BYTES]; /* by which the ends of a proof name it: an HMAC under it; zeros if there is none */
};

/* 0, or EINVAL after a message when the environment names a secret that cannot be used. */
int secret_check(void);
/* Tells whether there is a secret, which can no longer be changed afterwards. */
bool secret_is_set(void);
/* Computes the HMAC-SHA256 of the data under the process's own secret (32 bytes); zeros if there is no secret. */
void secret_sign(const void *data, size_t length, uint8_t out[32]);
/* The same under another secret. */
void secret_sign_with(const struct secret *secret, const void *data, size_t length, uint8_t out[32]);
/* Returns the name of the own secret. */
const uint8_t *secret_own_id(void);
/*
 * Returns true if the data has this MAC under the secret of that name. Computes one MAC at most, however many secrets there
 * are. Any thread.
 */
bool secret_that_signed(const uint8_t id[SECRET_ID_BYTES], const void *data, size_t length, const uint8_t mac[32],
			struct secret *out);
/* Remembers which secret the process with this nonce has proved. Any thread. */
void secret_proved_by(const uint8_t nonce[PROCESS_NONCE_BYTES], const struct secret *secret);
/* Returns that secret, or the own one if the process has proved none. Any thread. */
struct secret secret_shared_with(const uint8_t nonce[PROCESS_NONCE_BYTES]);

#endif

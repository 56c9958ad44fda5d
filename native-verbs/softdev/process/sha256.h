/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), for the proof that a peer knows the secret. */
#ifndef SOFTDEV_SHA256_H
#define SOFTDEV_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SHA256_BYTES = 32 };

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void sha256_init(struct sha256 *hash);
void sha256_update(struct sha256 *hash, const void *data, size_t length);
void sha256_final(struct sha256 *hash, uint8_t out[SHA256_BYTES]);

void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length,
		 uint8_t out[SHA256_BYTES]);

/* Compares in constant time; 1 = equal. */
int secure_equal(const uint8_t *a, const uint8_t *b, size_t length);

#endif

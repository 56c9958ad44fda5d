/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104), for the proof that a peer knows the secret. */
#ifndef SOFTDEV_SHA256_H
#define SOFTDEV_SHA256_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { SHA256_BYTES = 32 };

/* Computes the hash of the parts, one after the other. */
void sha256(const struct iovec *parts, int count, uint8_t out[SHA256_BYTES]);
void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length, uint8_t out[SHA256_BYTES]);

/* Compares in a time that does not depend on the contents. Returns 1 if both are equal. */
int secure_equal(const uint8_t *a, const uint8_t *b, size_t length);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#include "process/sha256.h"

#include <string.h>

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int bits)
{
	return value >> bits | value << (32 - bits);
}

static void compress(uint32_t state[8], const uint8_t block[64])
{
	uint32_t w[64], s[8];

	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | block[4 * i + 1] << 16 | block[4 * i + 2] << 8 |
		       block[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(s, state, sizeof(s));
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
			      ((s[4] & s[5]) ^ (~s[4] & s[6])) + round_constants[i] + w[i];
		uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) +
			      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, 7 * sizeof(*s));
		s[4] += t1;
		s[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

static void update(struct sha256 *hash, const void *data, size_t length)
{
	const uint8_t *bytes = data;

	while (length) {
		size_t used = hash->bytes % 64;
		size_t part = 64 - used < length ? 64 - used : length;

		memcpy(hash->block + used, bytes, part);
		hash->bytes += part;
		bytes += part;
		length -= part;
		if (hash->bytes % 64 == 0)
			compress(hash->state, hash->block);
	}
}

void sha256(const struct iovec *parts, int count, uint8_t out[SHA256_BYTES])
{
	static const uint8_t padding[64] = {0x80};
	struct sha256 hash = {.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
	uint8_t length[8];

	for (int i = 0; i < count; i++)
		update(&hash, parts[i].iov_base, parts[i].iov_len);
	for (int i = 0; i < 8; i++)
		length[i] = hash.bytes * 8 >> (56 - 8 * i);
	update(&hash, padding, 1 + (119 - hash.bytes % 64) % 64);
	update(&hash, length, sizeof(length));
	for (int i = 0; i < SHA256_BYTES; i++)
		out[i] = hash.state[i / 4] >> (24 - 8 * (i % 4));
}

static struct iovec part_of(const void *data, size_t length)
{
	return (struct iovec){(void *)(uintptr_t)data, length};
}

void hmac_sha256(const void *key, size_t key_length, const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
	uint8_t block[64] = {0}, inner[SHA256_BYTES];
	struct iovec whole_key = part_of(key, key_length);

	if (key_length > sizeof(block))
		sha256(&whole_key, 1, block);
	else
		memcpy(block, key, key_length);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36;
	sha256((struct iovec[]){part_of(block, sizeof(block)), part_of(data, length)}, 2, inner);
	for (size_t i = 0; i < sizeof(block); i++)
		block[i] ^= 0x36 ^ 0x5c;
	sha256((struct iovec[]){part_of(block, sizeof(block)), part_of(inner, sizeof(inner))}, 2, out);
}

int secure_equal(const uint8_t *a, const uint8_t *b, size_t length)
{
	uint8_t difference = 0;

	for (size_t i = 0; i < length; i++)
		difference |= a[i] ^ b[i];
	return !difference;
}

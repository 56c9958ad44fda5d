/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and HMAC-SHA256 give the published test vectors (FIPS 180-4 examples, RFC 4231). */
#include "process/sha256.h"
#include "test.h"

static void expect(const uint8_t *digest, const char *hex)
{
	char text[2 * SHA256_BYTES + 1];

	for (int i = 0; i < SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	if (strcmp(text, hex)) {
		fprintf(stderr, "%s is not %s\n", text, hex);
		test_fail(__FILE__, __LINE__, "digest");
	}
}

static void expect_hash(const char *data, size_t length, const char *hex)
{
	uint8_t digest[SHA256_BYTES];
	struct iovec part = {(void *)(uintptr_t)data, length};

	sha256(&part, 1, digest);
	expect(digest, hex);
}

int main(void)
{
	char key[131], letters[1000];
	uint8_t digest[SHA256_BYTES];
	struct iovec million[1000];

	expect_hash("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	expect_hash("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	expect_hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
		    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	memset(letters, 'a', sizeof(letters));
	for (int i = 0; i < 1000; i++)
		million[i] = (struct iovec){letters, sizeof(letters)};
	sha256(million, 1000, digest);
	expect(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, digest);
	expect(digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key));
	hmac_sha256(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54, digest);
	expect(digest, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	CHECK(secure_equal((const uint8_t *)"abc", (const uint8_t *)"abc", 3));
	CHECK(!secure_equal((const uint8_t *)"abc", (const uint8_t *)"abd", 3));
}

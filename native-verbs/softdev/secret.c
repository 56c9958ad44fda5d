/* SPDX-License-Identifier: Apache-2.0 */
#include "secret.h"

#include "log.h"
#include "sha256.h"
#include "softverbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SECRET_BYTES = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool in_use;
static uint8_t secret[MAX_SECRET_BYTES];
static size_t secret_bytes;

/* lock held. */
static void read_file(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file) {
		log_error("SOFTVERBS_SECRET_FILE=%s: %s", path, strerror(errno));
		abort(); /* going on without a secret would open the device to others */
	}
	secret_bytes = fread(secret, 1, sizeof(secret), file);
	while (secret_bytes && (secret[secret_bytes - 1] == '\n' || secret[secret_bytes - 1] == '\r'))
		secret_bytes--;
	fclose(file);
}

/* lock held. */
static void start_use(void)
{
	const char *text = getenv("SOFTVERBS_SECRET");
	const char *path = getenv("SOFTVERBS_SECRET_FILE");

	if (in_use)
		return;
	in_use = true;
	if (secret_bytes)
		return;
	if (text) {
		secret_bytes = strlen(text) < sizeof(secret) ? strlen(text) : sizeof(secret);
		memcpy(secret, text, secret_bytes);
	} else if (path) {
		read_file(path);
	}
}

int softverbs_set_secret(const void *value, size_t length)
{
	int result = 0;

	if (!value || !length || length > MAX_SECRET_BYTES)
		return EINVAL;
	pthread_mutex_lock(&lock);
	if (in_use)
		result = secret_bytes == length && !memcmp(secret, value, length) ? 0 : EBUSY;
	else
		memcpy(secret, value, secret_bytes = length);
	pthread_mutex_unlock(&lock);
	return result;
}

bool secret_is_set(void)
{
	bool set;

	pthread_mutex_lock(&lock);
	start_use();
	set = secret_bytes > 0;
	pthread_mutex_unlock(&lock);
	return set;
}

void secret_sign(const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
	pthread_mutex_lock(&lock);
	start_use();
	if (secret_bytes)
		hmac_sha256(secret, secret_bytes, data, length, out);
	else
		memset(out, 0, SHA256_BYTES);
	pthread_mutex_unlock(&lock);
}

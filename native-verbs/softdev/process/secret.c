/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/secret.h"

#include "core.h"
#include "engine.h"
#include "lock.h"
#include "process/log.h"
#include "process/sha256.h"
#include "softverbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_SECRET_BYTES = 16, MAX_SECRET_BYTES = 256 };

struct secret_state {
	pthread_mutex_t lock;
	atomic_bool in_use; /* from here on secret and secret_bytes are read without the lock */
	uint8_t secret[MAX_SECRET_BYTES];
	size_t secret_bytes;
};

/* A secret that the program has set also holds in the child of a fork. */
static bool init_part(void *part)
{
	const struct engine *parent = engine->inherited;
	struct secret_state *state = part;

	if (parent && parent->secret->secret_bytes) {
		memcpy(state->secret, parent->secret->secret, sizeof(state->secret));
		state->secret_bytes = parent->secret->secret_bytes;
	}
	return true;
}

ENGINE_PART(secret, init_part);

/* Whoever receives a proof can try secrets against it without limit, so short ones would be found. */
static bool is_usable(size_t length)
{
	return length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES;
}

/* Called with the lock held. 0 or EINVAL. */
static int take(const char *key, const char *shown, const uint8_t *value, size_t length)
{
	if (!is_usable(length)) {
		log_error("%s%s holds a secret of %zu bytes, and peers take one of %d to %d: set another, as "
			  "`openssl rand -hex 32` draws it, or unset it",
			  key, shown, length, MIN_SECRET_BYTES, MAX_SECRET_BYTES);
		return EINVAL;
	}
	memcpy(engine->secret->secret, value, length);
	engine->secret->secret_bytes = length;
	return 0;
}

/* Called with the lock held. 0 or EINVAL. */
static int read_file(const char *path)
{
	uint8_t text[MAX_SECRET_BYTES + 3];
	FILE *file = fopen(path, "re");
	char shown[256];
	size_t length;

	if (!file) {
		log_error("SOFTVERBS_SECRET_FILE=%s cannot be read (%s): name a readable file, or unset it", path,
			  strerror(errno));
		return EINVAL;
	}
	length = fread(text, 1, sizeof(text), file);
	fclose(file);
	while (length && (text[length - 1] == '\n' || text[length - 1] == '\r'))
		length--;
	snprintf(shown, sizeof(shown), "=%s", path);
	return take("SOFTVERBS_SECRET_FILE", shown, text, length);
}

/* Called with the lock held. A secret that was set by a call takes precedence over the environment. 0 or EINVAL. */
static int read_environment(void)
{
	const char *text = secure_getenv("SOFTVERBS_SECRET");
	const char *path = secure_getenv("SOFTVERBS_SECRET_FILE");

	if (engine->secret->secret_bytes)
		return 0;
	if (text)
		return take("SOFTVERBS_SECRET", "", (const uint8_t *)text, strlen(text));
	return path ? read_file(path) : 0;
}

int secret_check(void)
{
	HOLD_LOCK(&engine->secret->lock);
	return read_environment();
}

static void start_use(void)
{
	if (atomic_load_explicit(&engine->secret->in_use, memory_order_acquire))
		return;
	HOLD_LOCK(&engine->secret->lock);
	if (!atomic_load(&engine->secret->in_use) && read_environment()) {
		/* Without a secret the device would be open to others, so it draws one that nobody knows. */
		engine->secret->secret_bytes = SHA256_BYTES;
		random_bytes(engine->secret->secret, SHA256_BYTES);
	}
	atomic_store_explicit(&engine->secret->in_use, true, memory_order_release);
}

int softverbs_set_secret(const void *value, size_t length)
{
	if (!value || !is_usable(length))
		return EINVAL;
	HOLD_LOCK(&engine->secret->lock);
	if (engine->secret->in_use)
		return engine->secret->secret_bytes == length && !memcmp(engine->secret->secret, value, length) ? 0 : EBUSY;
	memcpy(engine->secret->secret, value, engine->secret->secret_bytes = length);
	return 0;
}

bool secret_is_set(void)
{
	start_use();
	return engine->secret->secret_bytes > 0;
}

void secret_sign(const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
	start_use();
	if (engine->secret->secret_bytes)
		hmac_sha256(engine->secret->secret, engine->secret->secret_bytes, data, length, out);
	else
		memset(out, 0, SHA256_BYTES);
}

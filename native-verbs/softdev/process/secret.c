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

enum { MAX_ACCEPTED = 4096, MAX_PROVERS = 4096 };

/* A process that has proved a secret of another application. */
struct prover {
	uint8_t nonce[PROCESS_NONCE_BYTES];
	struct secret secret;
};

struct secret_state {
	pthread_mutex_t lock;
	atomic_bool in_use; /* from here on own is read without the lock */
	struct secret own;  /* of length 0 if there is none */
	struct secret *accepted;
	size_t accepted_count;
	struct prover *provers; /* MAX_PROVERS of them, of which the next one takes the place of the oldest */
	size_t next_prover;
};

/* A secret that the program has set also holds in the child of a fork; what it accepts beside it does not. */
static bool init_part(void *part)
{
	const struct engine *parent = engine->inherited;
	struct secret_state *state = part;

	if (parent)
		state->own = parent->secret->own;
	return true;
}

ENGINE_PART(secret, init_part);

/* Whoever receives a proof can try secrets against it without limit, so short ones would be found. */
static bool is_usable(size_t length)
{
	return length >= MIN_SECRET_BYTES && length <= MAX_SECRET_BYTES;
}

static struct secret secret_of(const void *value, size_t length)
{
	struct secret secret = {.length = length};

	memcpy(secret.bytes, value, length);
	return secret;
}

static bool is_equal(const struct secret *secret, const void *value, size_t length)
{
	return secret->length == length && !memcmp(secret->bytes, value, length);
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
	engine->secret->own = secret_of(value, length);
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

	if (engine->secret->own.length)
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
		engine->secret->own.length = SHA256_BYTES;
		random_bytes(engine->secret->own.bytes, SHA256_BYTES);
	}
	atomic_store_explicit(&engine->secret->in_use, true, memory_order_release);
}

int softverbs_set_secret(const void *value, size_t length)
{
	if (!value || !is_usable(length))
		return EINVAL;
	HOLD_LOCK(&engine->secret->lock);
	if (engine->secret->in_use)
		return is_equal(&engine->secret->own, value, length) ? 0 : EBUSY;
	engine->secret->own = secret_of(value, length);
	return 0;
}

bool secret_is_set(void)
{
	start_use();
	return engine->secret->own.length > 0;
}

void secret_sign_with(const struct secret *secret, const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
	if (secret->length)
		hmac_sha256(secret->bytes, secret->length, data, length, out);
	else
		memset(out, 0, SHA256_BYTES);
}

void secret_sign(const void *data, size_t length, uint8_t out[SHA256_BYTES])
{
	start_use();
	secret_sign_with(&engine->secret->own, data, length, out);
}

static bool has_signed(const struct secret *secret, const void *data, size_t length, const uint8_t mac[SHA256_BYTES])
{
	uint8_t expected[SHA256_BYTES];

	secret_sign_with(secret, data, length, expected);
	return secure_equal(expected, mac, SHA256_BYTES);
}

bool secret_that_signed(const void *data, size_t length, const uint8_t mac[SHA256_BYTES], struct secret *out)
{
	const struct secret_state *state = engine->secret;

	start_use();
	*out = state->own;
	if (has_signed(out, data, length, mac))
		return true;
	HOLD_LOCK(&engine->secret->lock);
	for (size_t i = 0; i < state->accepted_count; i++) {
		if (has_signed(&state->accepted[i], data, length, mac)) {
			*out = state->accepted[i];
			return true;
		}
	}
	return false;
}

void secret_proved_by(const uint8_t nonce[PROCESS_NONCE_BYTES], const struct secret *secret)
{
	struct secret_state *state = engine->secret;
	struct prover *prover;

	HOLD_LOCK(&state->lock);
	if (!state->provers || is_equal(&state->own, secret->bytes, secret->length))
		return;
	prover = &state->provers[state->next_prover++ % MAX_PROVERS];
	memcpy(prover->nonce, nonce, PROCESS_NONCE_BYTES);
	prover->secret = *secret;
}

struct secret secret_shared_with(const uint8_t nonce[PROCESS_NONCE_BYTES])
{
	const struct secret_state *state = engine->secret;

	start_use();
	HOLD_LOCK(&engine->secret->lock);
	for (size_t i = 0; state->provers && i < MAX_PROVERS; i++)
		if (!memcmp(state->provers[i].nonce, nonce, PROCESS_NONCE_BYTES) && state->provers[i].secret.length)
			return state->provers[i].secret;
	return state->own;
}

/* Called with the lock held. 0 or ENOMEM. */
static int make_room(struct secret_state *state)
{
	if (!state->accepted)
		state->accepted = calloc(MAX_ACCEPTED, sizeof(*state->accepted));
	if (!state->provers)
		state->provers = calloc(MAX_PROVERS, sizeof(*state->provers));
	return state->accepted && state->provers ? 0 : ENOMEM;
}

int softverbs_accept_secret(const void *value, size_t length)
{
	struct secret_state *state = engine->secret;

	if (!value || !is_usable(length))
		return EINVAL;
	HOLD_LOCK(&state->lock);
	if (make_room(state))
		return ENOMEM;
	if (state->accepted_count == MAX_ACCEPTED)
		return ENOSPC;
	state->accepted[state->accepted_count++] = secret_of(value, length);
	return 0;
}

int softverbs_forget_secret(const void *value, size_t length)
{
	struct secret_state *state = engine->secret;
	size_t i = 0;

	HOLD_LOCK(&state->lock);
	while (i < state->accepted_count && !is_equal(&state->accepted[i], value, length))
		i++;
	if (i == state->accepted_count)
		return ENOENT;
	state->accepted[i] = state->accepted[--state->accepted_count];
	for (i = 0; i < state->accepted_count; i++)
		if (is_equal(&state->accepted[i], value, length))
			return 0; /* it was accepted more than once */
	for (i = 0; i < MAX_PROVERS; i++)
		if (is_equal(&state->provers[i].secret, value, length))
			memset(&state->provers[i], 0, sizeof(state->provers[i]));
	return 0;
}


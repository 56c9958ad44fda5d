/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "process/secret.h"

#include "core.h"
#include "engine.h"
#include "lock.h"
#include "process/list.h"
#include "process/log.h"
#include "process/sha256.h"
#include "softverbs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of processes that have proved one secret, MAX_PROVERS are remembered; one more takes the place of the oldest. */
enum { MAX_ACCEPTED = 4096, MAX_PROVERS = 1024, BUCKETS = 4096 };

/* A secret of another application. */
struct accepted {
	struct accepted *next; /* in the same bucket */
	struct secret secret;
	unsigned int times; /* it was accepted so often and not forgotten */
	struct list provers;
	unsigned int prover_count;
};

/* A process that has proved it. */
struct prover {
	struct prover *next; /* in the same bucket */
	struct list place;   /* among those of the secret, the oldest first */
	struct accepted *proved;
	uint8_t nonce[PROCESS_NONCE_BYTES];
};

struct secret_state {
	pthread_mutex_t lock;
	atomic_bool in_use; /* from here on own is read without the lock */
	struct secret own;  /* of length 0 if there is none */
	struct accepted *accepted[BUCKETS]; /* by key id */
	unsigned int accepted_count;
	struct prover *provers[BUCKETS]; /* by nonce */
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
	static const char purpose[] = "softverbs key id";
	struct secret secret = {.length = length};
	uint8_t mac[SHA256_BYTES];

	memcpy(secret.bytes, value, length);
	hmac_sha256(value, length, purpose, sizeof(purpose), mac);
	memcpy(secret.key_id, mac, SECRET_ID_BYTES);
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
		uint8_t drawn[SHA256_BYTES];

		random_bytes(drawn, sizeof(drawn));
		engine->secret->own = secret_of(drawn, sizeof(drawn));
	}
	atomic_store_explicit(&engine->secret->in_use, true, memory_order_release);
}

int softverbs_set_secret(const void *value, size_t length)
{
	if (!value || !is_usable(length))
		return EINVAL;
	if (engine_check())
		return ENOMEM;
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

const uint8_t *secret_own_id(void)
{
	start_use();
	return engine->secret->own.key_id;
}

/* Both ids and nonces look like random numbers. */
static unsigned int bucket_of(const uint8_t *id)
{
	return (id[0] | id[1] << 8) % BUCKETS;
}

static bool has_id(const struct secret *secret, const uint8_t id[SECRET_ID_BYTES])
{
	return !memcmp(secret->key_id, id, SECRET_ID_BYTES);
}

/* Called with the lock held. */
static struct accepted **find_accepted(const uint8_t id[SECRET_ID_BYTES])
{
	struct accepted **link = &engine->secret->accepted[bucket_of(id)];

	while (*link && !has_id(&(*link)->secret, id))
		link = &(*link)->next;
	return link;
}

/* Finds the secret of that name, own or accepted. */
static bool find_named(const uint8_t id[SECRET_ID_BYTES], struct secret *out)
{
	const struct accepted *accepted;

	start_use();
	if (has_id(&engine->secret->own, id)) {
		*out = engine->secret->own;
		return true;
	}
	HOLD_LOCK(&engine->secret->lock);
	accepted = *find_accepted(id);
	if (accepted)
		*out = accepted->secret;
	return accepted;
}

bool secret_that_signed(const uint8_t id[SECRET_ID_BYTES], const void *data, size_t length, const uint8_t mac[SHA256_BYTES],
			struct secret *out)
{
	uint8_t expected[SHA256_BYTES];

	if (!find_named(id, out))
		return false;
	secret_sign_with(out, data, length, expected);
	return secure_equal(expected, mac, SHA256_BYTES);
}

/* Called with the lock held. */
static struct prover **find_prover(const uint8_t nonce[PROCESS_NONCE_BYTES])
{
	struct prover **link = &engine->secret->provers[bucket_of(nonce)];

	while (*link && memcmp((*link)->nonce, nonce, PROCESS_NONCE_BYTES))
		link = &(*link)->next;
	return link;
}

/* Called with the lock held. */
static void forget_prover(struct prover **link)
{
	struct prover *prover = *link;

	*link = prover->next;
	list_remove(&prover->place);
	prover->proved->prover_count--;
	free(prover);
}

/* Called with the lock held. */
static void forget_oldest(struct accepted *accepted)
{
	forget_prover(find_prover(LIST_FIRST(&accepted->provers, struct prover, place)->nonce));
}

void secret_proved_by(const uint8_t nonce[PROCESS_NONCE_BYTES], const struct secret *secret)
{
	struct prover **known, *prover;
	struct accepted *accepted;

	HOLD_LOCK(&engine->secret->lock);
	accepted = has_id(&engine->secret->own, secret->key_id) ? NULL : *find_accepted(secret->key_id);
	known = find_prover(nonce);
	if (*known && (*known)->proved == accepted)
		return;
	if (*known) /* a nonce is no proof: whoever has proved another secret since is another process */
		forget_prover(known);
	prover = accepted ? calloc(1, sizeof(*prover)) : NULL;
	if (!prover)
		return;
	if (accepted->prover_count == MAX_PROVERS)
		forget_oldest(accepted);
	memcpy(prover->nonce, nonce, PROCESS_NONCE_BYTES);
	prover->proved = accepted;
	prover->next = engine->secret->provers[bucket_of(nonce)];
	engine->secret->provers[bucket_of(nonce)] = prover;
	list_add(&accepted->provers, &prover->place);
	accepted->prover_count++;
}

struct secret secret_shared_with(const uint8_t nonce[PROCESS_NONCE_BYTES])
{
	const struct prover *prover;

	start_use();
	HOLD_LOCK(&engine->secret->lock);
	prover = *find_prover(nonce);
	return prover ? prover->proved->secret : engine->secret->own;
}

int softverbs_accept_secret(const void *value, size_t length)
{
	struct accepted **link, *accepted;
	struct secret_state *state;
	struct secret secret;

	if (!value || !is_usable(length))
		return EINVAL;
	if (engine_check())
		return ENOMEM;
	state = engine->secret;
	secret = secret_of(value, length);
	HOLD_LOCK(&state->lock);
	link = find_accepted(secret.key_id);
	if (*link) {
		(*link)->times++;
		return 0;
	}
	if (state->accepted_count == MAX_ACCEPTED)
		return ENOSPC;
	accepted = calloc(1, sizeof(*accepted));
	if (!accepted)
		return ENOMEM;
	accepted->secret = secret;
	accepted->times = 1;
	*link = accepted;
	state->accepted_count++;
	return 0;
}

int softverbs_forget_secret(const void *value, size_t length)
{
	struct accepted **link, *accepted;
	struct secret secret;

	if (!value || !is_usable(length) || engine_check())
		return ENOENT;
	secret = secret_of(value, length);
	HOLD_LOCK(&engine->secret->lock);
	link = find_accepted(secret.key_id);
	accepted = *link;
	if (!accepted)
		return ENOENT;
	if (--accepted->times)
		return 0;
	while (!list_is_empty(&accepted->provers))
		forget_oldest(accepted);
	*link = accepted->next;
	free(accepted);
	engine->secret->accepted_count--;
	return 0;
}

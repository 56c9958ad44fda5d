/* SPDX-License-Identifier: Apache-2.0 */
#include "wrong_keys.h"

#include "link.h"
#include "log.h"
#include "progress.h"

#include <string.h>

enum { SUSPECTS = 64 };

#define MINUTE_NS (60 * 1000000000ull)

static struct suspect {
	uint8_t nonce[LINK_NONCE_BYTES];
	uint64_t since_ns;
	unsigned int count;
} suspects[SUSPECTS];

static struct suspect *find(const uint8_t *nonce)
{
	for (int i = 0; i < SUSPECTS; i++)
		if (suspects[i].count && !memcmp(suspects[i].nonce, nonce, LINK_NONCE_BYTES))
			return &suspects[i];
	return NULL;
}

static struct suspect *oldest(void)
{
	struct suspect *found = &suspects[0];

	for (int i = 1; i < SUSPECTS; i++)
		if (suspects[i].since_ns < found->since_ns)
			found = &suspects[i];
	return found;
}

void wrong_keys_count(const uint8_t *nonce)
{
	struct suspect *suspect = find(nonce);
	uint64_t now = progress_now_ns();

	if (!suspect || now - suspect->since_ns > MINUTE_NS) {
		if (!suspect)
			suspect = oldest();
		memcpy(suspect->nonce, nonce, LINK_NONCE_BYTES);
		suspect->since_ns = now;
		suspect->count = 0;
	}
	if (++suspect->count == WRONG_KEYS_PER_MINUTE)
		log_warn("a peer used %u wrong keys within a minute; refusing it", suspect->count);
}

bool wrong_keys_exceeded(const uint8_t *nonce)
{
	const struct suspect *suspect = find(nonce);

	return suspect && suspect->count >= WRONG_KEYS_PER_MINUTE &&
	       progress_now_ns() - suspect->since_ns <= MINUTE_NS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/wrong_keys.h"

#include "engine.h"
#include "process/log.h"
#include "process/progress.h"

#include <string.h>

enum { SUSPECTS = 64 };

#define MINUTE_NS (60 * 1000000000ull)

struct identity {
	union ibv_gid address; /* zeros for a process on this host */
	uint32_t scope;	       /* the interface of a link-local address */
	pid_t pid;
	uid_t uid;
};

struct suspect {
	struct identity who;
	uint64_t since_ns;
	unsigned int count;
};

struct wrong_keys_state {
	struct suspect suspects[SUSPECTS];
};

ENGINE_PART(wrong_keys, NULL);

static struct identity identity_of(const struct link *link)
{
	return (struct identity){link_peer(link)->gid, link_peer_scope(link), link_peer(link)->pid, link_peer(link)->uid};
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return !memcmp(&a->address, &b->address, sizeof(a->address)) && a->scope == b->scope && a->pid == b->pid &&
	       a->uid == b->uid;
}

static struct suspect *find(const struct identity *who)
{
	for (int i = 0; i < SUSPECTS; i++)
		if (engine->wrong_keys->suspects[i].count && is_same(&engine->wrong_keys->suspects[i].who, who))
			return &engine->wrong_keys->suspects[i];
	return NULL;
}

static struct suspect *oldest(void)
{
	struct suspect *found = &engine->wrong_keys->suspects[0];

	for (int i = 1; i < SUSPECTS; i++)
		if (engine->wrong_keys->suspects[i].since_ns < found->since_ns)
			found = &engine->wrong_keys->suspects[i];
	return found;
}

void wrong_keys_count(const struct link *link)
{
	struct identity who = identity_of(link);
	struct suspect *suspect = find(&who);
	uint64_t now = progress_now_ns();

	if (!suspect || now - suspect->since_ns > MINUTE_NS) {
		if (!suspect)
			suspect = oldest();
		*suspect = (struct suspect){.who = who, .since_ns = now};
	}
	if (++suspect->count == WRONG_KEYS_PER_MINUTE)
		log_warn("a peer used %u wrong keys within a minute; refusing it", suspect->count);
}

bool wrong_keys_exceeded(const struct link *link)
{
	struct identity who = identity_of(link);
	const struct suspect *suspect = find(&who);

	return suspect && suspect->count >= WRONG_KEYS_PER_MINUTE &&
	       progress_now_ns() - suspect->since_ns <= MINUTE_NS;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/group_member.h"

#include "core.h"
#include "datagram/ud_peer.h"
#include "engine.h"
#include "link/link_listen.h"
#include "process/progress.h"
#include "process/secret.h"
#include "process/sha256.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { KNOWN_GROUPS = 16, PORTS = 1 << 16, TOKEN_BYTES = 20, MAC_BYTES = 12 };
enum { GID_TEXT_BYTES = 2 * sizeof(union ibv_gid) + 1, TOKEN_TEXT_BYTES = 2 * TOKEN_BYTES + 1 };

#define KNOWN_FOR_NS 2000000ull /* a new member misses what is sent sooner */
#define LOOK_SHARE 10		/* at most one part in so many of a sender's time goes into looking */

/* Who is in a group, for a while. */
struct known_group {
	union ibv_gid gid;
	uint64_t until_ns;
	int count;
	uint16_t ports[GROUP_MAX_PROCESSES];
};

/* The end of a name: nobody knows it beforehand, and with a secret nobody else can make one. */
struct token {
	uint8_t random[TOKEN_BYTES - MAC_BYTES];
	uint8_t mac[MAC_BYTES]; /* zeros without a secret */
};

struct group_member_state {
	pthread_mutex_t lock; /* a leaf */
	struct known_group known[KNOWN_GROUPS];
	unsigned int own_changes;
};

ENGINE_PART(group_member, NULL);

static void to_hex(const void *bytes, size_t length, char *text)
{
	for (size_t i = 0; i < length; i++)
		snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)bytes)[i]);
}

/* `text` has twice as many hexadecimal digits. */
static void from_hex(const char *text, uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		sscanf(text + 2 * i, "%2hhx", &bytes[i]);
}

static void sign(struct token *token, uint16_t port, const union ibv_gid *gid)
{
	struct {
		char what[16];
		union ibv_gid gid;
		uint8_t random[sizeof(token->random)];
		uint64_t port;
	} named = {.what = "softverbs group", .gid = *gid, .port = port};
	uint8_t mac[SHA256_BYTES];

	memcpy(named.random, token->random, sizeof(named.random));
	secret_sign(&named, sizeof(named), mac);
	memcpy(token->mac, mac, sizeof(token->mac));
}

static struct known_group *entry_for(const union ibv_gid *gid)
{
	return &engine->group_member->known[(gid->raw[13] ^ gid->raw[14] ^ gid->raw[15]) % KNOWN_GROUPS];
}

/* This process sees at once that it is a member now. */
static void forget(const union ibv_gid *gid)
{
	pthread_mutex_lock(&engine->group_member->lock);
	entry_for(gid)->until_ns = 0;
	engine->group_member->own_changes++;
	pthread_mutex_unlock(&engine->group_member->lock);
}

int group_become_member(uint16_t port, const union ibv_gid *gid)
{
	char hex[GID_TEXT_BYTES], end[TOKEN_TEXT_BYTES], suffix[GID_TEXT_BYTES + TOKEN_TEXT_BYTES + 4];
	struct token token;
	int fd;

	random_bytes(token.random, sizeof(token.random));
	sign(&token, port, gid);
	to_hex(gid, sizeof(*gid), hex);
	to_hex(&token, sizeof(token), end);
	snprintf(suffix, sizeof(suffix), ".mc.%s.%s", hex, end);
	fd = link_bind_name(port, suffix, SOCK_DGRAM);
	if (fd >= 0)
		forget(gid);
	return fd;
}

/* Of a process that knows the secret, if there is one. */
static bool is_genuine(uint16_t port, const union ibv_gid *gid, const char *text)
{
	struct token told, right;

	if (!secret_is_set())
		return true;
	from_hex(text, (uint8_t *)&told, sizeof(told));
	right = told;
	sign(&right, port, gid);
	return secure_equal(told.mac, right.mac, sizeof(right.mac));
}

/* Sets the bit of each port that a name puts into the group: a process counts once, whatever names there are. */
static void read_names(const union ibv_gid *gid, uint8_t named[PORTS / 8])
{
	FILE *file = fopen("/proc/net/unix", "re");
	char wanted[GID_TEXT_BYTES], found[GID_TEXT_BYTES], end[TOKEN_TEXT_BYTES], line[256];

	to_hex(gid, sizeof(*gid), wanted);
	while (file && fgets(line, sizeof(line), file)) {
		const char *name = strstr(line, "@softverbs.");
		unsigned int port;

		if (name &&
		    sscanf(name, "@softverbs.%u.mc.%32[0-9a-f].%40[0-9a-f]", &port, found, end) == 3 &&
		    port < PORTS && !strcmp(found, wanted) && strlen(end) == TOKEN_TEXT_BYTES - 1 &&
		    !(named[port / 8] & 1 << port % 8) && is_genuine(port, gid, end))
			named[port / 8] |= 1 << port % 8;
	}
	if (file)
		fclose(file);
}

/* Anybody may have such a name: without a secret only those count that datagrams go to, so that no others take the room. */
static int look(const union ibv_gid *gid, uint16_t ports[GROUP_MAX_PROCESSES])
{
	uint8_t named[PORTS / 8] = {0};
	int count = 0;

	read_names(gid, named);
	for (int port = 1; port < PORTS && count < GROUP_MAX_PROCESSES; port++)
		if (named[port / 8] & 1 << port % 8 && ud_peer_is_there(port))
			ports[count++] = port;
	return count;
}

int group_find_members(const union ibv_gid *gid, uint16_t ports[GROUP_MAX_PROCESSES])
{
	struct known_group *group = entry_for(gid);
	uint64_t before = progress_now_ns(), after;
	unsigned int changes;
	int count = -1;

	pthread_mutex_lock(&engine->group_member->lock);
	changes = engine->group_member->own_changes;
	if (before < group->until_ns && !memcmp(&group->gid, gid, sizeof(*gid))) {
		count = group->count;
		memcpy(ports, group->ports, count * sizeof(ports[0]));
	}
	pthread_mutex_unlock(&engine->group_member->lock);
	if (count >= 0)
		return count;
	count = look(gid, ports);
	after = progress_now_ns();
	pthread_mutex_lock(&engine->group_member->lock);
	if (changes == engine->group_member->own_changes) {
		uint64_t pause = (after - before) * LOOK_SHARE;

		group->gid = *gid;
		group->count = count;
		memcpy(group->ports, ports, count * sizeof(ports[0]));
		group->until_ns = after + (pause > KNOWN_FOR_NS ? pause : KNOWN_FOR_NS);
	}
	pthread_mutex_unlock(&engine->group_member->lock);
	return count;
}

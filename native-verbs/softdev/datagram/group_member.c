/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "group_member.h"

#include "link_listen.h"
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KNOWN_GROUPS = 16, GID_TEXT_BYTES = 2 * sizeof(union ibv_gid) + 1 };

#define KNOWN_FOR_NS 2000000ull /* a new member misses what is sent sooner */

struct known_group {
	union ibv_gid gid;
	uint64_t until_ns;
	int count;
	uint16_t ports[GROUP_MAX_PROCESSES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct known_group known[KNOWN_GROUPS];

static void gid_to_hex(const union ibv_gid *gid, char text[GID_TEXT_BYTES])
{
	for (size_t i = 0; i < sizeof(*gid); i++)
		snprintf(text + 2 * i, 3, "%02x", gid->raw[i]);
}

static struct known_group *entry_for(const union ibv_gid *gid)
{
	return &known[(gid->raw[13] ^ gid->raw[14] ^ gid->raw[15]) % KNOWN_GROUPS];
}

/* This process sees at once that it is a member now. */
static void forget(const union ibv_gid *gid)
{
	pthread_mutex_lock(&lock);
	entry_for(gid)->until_ns = 0;
	pthread_mutex_unlock(&lock);
}

int group_become_member(uint16_t port, const union ibv_gid *gid)
{
	char hex[GID_TEXT_BYTES], suffix[GID_TEXT_BYTES + 4];
	int fd;

	gid_to_hex(gid, hex);
	snprintf(suffix, sizeof(suffix), ".mc.%s", hex);
	fd = link_bind_name(port, suffix, SOCK_DGRAM);
	if (fd >= 0)
		forget(gid);
	return fd;
}

static int by_port(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

/* Anybody may have a name that reads the same: each process gets one copy. */
static int without_doubles(uint16_t *ports, int count)
{
	int kept = 0;

	qsort(ports, count, sizeof(ports[0]), by_port);
	for (int i = 0; i < count; i++)
		if (!kept || ports[i] != ports[kept - 1])
			ports[kept++] = ports[i];
	return kept;
}

/* lock held. */
static void look(struct known_group *group)
{
	FILE *file = fopen("/proc/net/unix", "re");
	char wanted[GID_TEXT_BYTES], found[GID_TEXT_BYTES], line[256];

	gid_to_hex(&group->gid, wanted);
	group->count = 0;
	while (file && group->count < GROUP_MAX_PROCESSES && fgets(line, sizeof(line), file)) {
		const char *name = strstr(line, "@softverbs.");
		unsigned int port;

		if (name && sscanf(name, "@softverbs.%*u.%u.mc.%32[0-9a-f]", &port, found) == 2 && port <= UINT16_MAX &&
		    !strcmp(found, wanted))
			group->ports[group->count++] = port;
	}
	if (file)
		fclose(file);
	group->count = without_doubles(group->ports, group->count);
}

int group_find_members(const union ibv_gid *gid, uint16_t ports[GROUP_MAX_PROCESSES])
{
	struct known_group *group = entry_for(gid);
	uint64_t now = progress_now_ns();
	int count;

	pthread_mutex_lock(&lock);
	if (now >= group->until_ns || memcmp(&group->gid, gid, sizeof(*gid))) {
		group->gid = *gid;
		look(group);
		group->until_ns = progress_now_ns() + KNOWN_FOR_NS;
	}
	count = group->count;
	memcpy(ports, group->ports, count * sizeof(ports[0]));
	pthread_mutex_unlock(&lock);
	return count;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine does not survive a fork: in the child each of its calls answers EIO. A child that begins anew, by asking for
 * devices or for an event channel, gets an engine of its own: a second copy of libsoftverbs.so.1, to which from then on
 * all exported functions of both facades lead. What it inherited is as stale there as a handle of another process.
 */
#define _GNU_SOURCE
#include "softverbs.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

enum {
	MAX_GENERATIONS = 16,
	MAX_FOLLOWERS = sizeof(((struct softverbs_succession *)NULL)->followers) / sizeof(void *),
};

struct entry {
	void *target;
	const char *name;
};

/* The linker's bounds of the table that facade.inc writes. */
extern struct entry __start_facade_entries[] __attribute__((visibility("hidden")));
extern struct entry __stop_facade_entries[] __attribute__((visibility("hidden")));

void facade_renew(void);

static struct softverbs_succession *(*succession)(void) = softverbs_succession;
static int generation; /* engines before this one */

/* A copy of the file, for the same one would not be loaded twice. Its descriptor, or -1. */
static int copy_of_engine(void)
{
	Dl_info info;
	int from, copy;

	if (!dladdr((void *)softverbs_succession, &info))
		return -1;
	from = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	copy = from < 0 ? -1 : memfd_create("libsoftverbs.so.1", MFD_CLOEXEC);
	while (copy >= 0) {
		ssize_t count = sendfile(copy, from, NULL, 1 << 20);

		if (!count)
			break;
		if (count < 0) {
			close(copy);
			copy = -1;
		}
	}
	if (from >= 0)
		close(from);
	return copy;
}

static void *load_engine(void)
{
	char path[64];
	void *engine;
	int fd = generation < MAX_GENERATIONS ? copy_of_engine() : -1;

	if (fd < 0)
		return NULL;
	/* A path that was loaded before would give that engine: a detour more for each generation. */
	snprintf(path, sizeof(path), "/proc/self/%.*sfd/%d", 2 * generation, "././././././././././././././././", fd);
	/* DEEPBIND: it calls itself, not the first one, whose names are visible to all. */
	engine = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	close(fd);
	return engine;
}

static void follow(void *engine);

static void enlist(void)
{
	struct softverbs_succession *own = succession();

	if (own->follower_count < MAX_FOLLOWERS)
		own->followers[own->follower_count++] = follow;
}

static void follow(void *engine)
{
	generation++;
	for (struct entry *entry = __start_facade_entries; entry < __stop_facade_entries; entry++)
		entry->target = dlsym(engine, entry->name);
	*(void **)&succession = dlsym(engine, "softverbs_succession");
	enlist();
}

/* Both facades follow, whichever was loaded first; one that is loaded in a child may be late. */
__attribute__((constructor)) static void join(void)
{
	enlist();
	while (succession()->successor)
		follow(succession()->successor);
}

/* own->lock held. */
static void replace(struct softverbs_succession *own)
{
	own->successor = load_engine();
	for (int i = 0; own->successor && i < own->follower_count; i++)
		own->followers[i](own->successor);
}

void facade_renew(void)
{
	struct softverbs_succession *own = succession();

	if (!own->orphaned)
		return;
	pthread_mutex_lock(&own->lock);
	if (!own->successor)
		replace(own);
	pthread_mutex_unlock(&own->lock);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The GID table: the addresses of this host, at first in the same order in every process. */
#define _GNU_SOURCE
#include "device/gid_table.h"

#include "core.h"
#include "device/device.h"
#include "engine.h"
#include "process/log.h"
#include "process/progress.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct address {
	union ibv_gid gid; /* zeros: the entry is empty */
	uint32_t interface; /* 0: not known */
};

enum { MAX_ADDRESSES = 64 };

struct table {
	struct address entries[MAX_ADDRESSES];
	int count;
};

#define RETRY_NS 100000000ull

struct gid_table_state {
	pthread_once_t once;
	pthread_mutex_t lock;
	struct table table; /* lock; its count only grows */
	atomic_bool is_followed, asked;
	struct progress_task task;
	struct progress_timer retry;
	struct progress_watch watch;
};

static void start_watching(void *unused);
static void follow_change(void *unused);
static void on_change(void *owner, uint32_t events);

static bool init_part(void *part)
{
	struct gid_table_state *state = part;

	state->task.callback = start_watching;
	state->retry.callback = follow_change;
	state->watch = (struct progress_watch){.callback = on_change, .owner = &state->watch};
	return true;
}

ENGINE_PART(gid_table, init_part);

static const union ibv_gid empty;

static bool is_same(const union ibv_gid *a, const union ibv_gid *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct address *find(struct table *in, const union ibv_gid *gid)
{
	for (int i = 0; i < in->count; i++)
		if (is_same(&in->entries[i].gid, gid))
			return &in->entries[i];
	return NULL;
}

/* Into an empty entry, else behind the last one. */
static void add(struct table *to, const struct address *address)
{
	struct address *entry = find(to, &address->gid);

	if (entry && (entry->interface || !address->interface))
		return;
	if (!entry)
		entry = find(to, &empty);
	if (!entry && to->count < MAX_ADDRESSES)
		entry = &to->entries[to->count++];
	if (entry)
		*entry = *address;
}

static bool configured_primary(union ibv_gid *gid)
{
	const char *text = secure_getenv("SOFTVERBS_ADDRESS");
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};

	if (!text)
		return false;
	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
		address.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
		address.any.sa_family = AF_INET6;
	if (address.any.sa_family != AF_UNSPEC) {
		gid_from_address(&address.any, gid);
		return true;
	}
	return false;
}

enum { RANK_V4, RANK_V6, RANK_LINK_LOCAL, RANK_LOOPBACK_V4, RANK_LOOPBACK_V6 };

/* Where the address belongs in the table; -1: nowhere. */
static int rank(const struct ifaddrs *entry, union ibv_gid *gid)
{
	if (!entry->ifa_addr)
		return -1;
	if (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6)
		return -1;
	gid_from_address(entry->ifa_addr, gid);
	if (gid_is_link_local(gid))
		return RANK_LINK_LOCAL;
	return (gid_is_loopback(gid) ? RANK_LOOPBACK_V4 : RANK_V4) + (gid_is_mapped_v4(gid) ? 0 : 1);
}

/* What the table would be if it were made now; with `down`, of interfaces that are down as well. False if it is not known. */
static bool read_addresses(struct table *to, bool down)
{
	static const struct sockaddr_in localhost = {.sin_family = AF_INET,
						     .sin_addr.s_addr = 0x0100007f};
	struct ifaddrs *list = NULL;
	bool known = !getifaddrs(&list);
	union ibv_gid gid;

	if (!known)
		list = NULL;
	to->count = 0;
	if (configured_primary(&gid))
		add(to, &(struct address){.gid = gid});
	for (int wanted = 0; wanted <= RANK_LOOPBACK_V6; wanted++)
		for (const struct ifaddrs *entry = list; entry; entry = entry->ifa_next)
			if ((down || (entry->ifa_flags & IFF_UP)) && rank(entry, &gid) == wanted)
				add(to, &(struct address){gid, if_nametoindex(entry->ifa_name)});
	if (list)
		freeifaddrs(list);
	if (!to->count) {
		gid_from_address((const struct sockaddr *)&localhost, &gid);
		add(to, &(struct address){.gid = gid});
	}
	return known;
}

static void fill_table(void)
{
	read_addresses(&engine->gid_table->table, false);
}

int gid_table_length(void)
{
	int count;

	pthread_once(&engine->gid_table->once, fill_table);
	pthread_mutex_lock(&engine->gid_table->lock);
	count = engine->gid_table->table.count;
	pthread_mutex_unlock(&engine->gid_table->lock);
	return 2 * count;
}

int gid_table_entry(int index, union ibv_gid *gid, enum ibv_gid_type *type)
{
	if (index < 0 || index >= gid_table_length())
		return -EINVAL;
	pthread_mutex_lock(&engine->gid_table->lock);
	*gid = engine->gid_table->table.entries[index / 2].gid;
	pthread_mutex_unlock(&engine->gid_table->lock);
	if (type)
		*type = index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

bool gid_table_is_empty_at(int index)
{
	union ibv_gid gid;

	return gid_table_entry(index, &gid, NULL) || is_same(&gid, &empty);
}

/* The entry of one of our addresses: false if it is none. */
static bool look_up(const union ibv_gid *gid, struct address *entry)
{
	const struct address *found = NULL;

	gid_table_length();
	pthread_mutex_lock(&engine->gid_table->lock);
	if (!is_same(gid, &empty))
		found = find(&engine->gid_table->table, gid);
	if (found)
		*entry = *found;
	pthread_mutex_unlock(&engine->gid_table->lock);
	return found;
}

bool gid_is_local(const union ibv_gid *gid)
{
	struct address entry;
	struct table now;

	if (gid_is_loopback(gid) || look_up(gid, &entry))
		return true;
	if (atomic_load(&engine->gid_table->is_followed))
		return false;
	read_addresses(&now, true);
	return find(&now, gid);
}

uint32_t gid_scope(const union ibv_gid *gid)
{
	struct address entry;

	return gid_is_link_local(gid) && look_up(gid, &entry) ? entry.interface : 0;
}

/* An entry has padding, which says nothing. */
static bool says_the_same(const struct table *one, const struct table *other)
{
	bool same = one->count == other->count;

	for (int i = 0; same && i < one->count; i++)
		same = !memcmp(&one->entries[i].gid, &other->entries[i].gid, sizeof(one->entries[i].gid)) &&
		       one->entries[i].interface == other->entries[i].interface;
	return same;
}

/* Brings the table up to date. 1 if that changed it, 0 if not, -EAGAIN if the addresses cannot be had: then it stays. */
static int refresh(void)
{
	struct table up, all, before;
	bool changed;

	if (!read_addresses(&up, false) || !read_addresses(&all, true))
		return -EAGAIN;
	gid_table_length();
	pthread_mutex_lock(&engine->gid_table->lock);
	before = engine->gid_table->table;
	for (int i = 0; i < engine->gid_table->table.count; i++) {
		const struct address *there = find(&up, &engine->gid_table->table.entries[i].gid);

		if (!there)
			there = find(&all, &engine->gid_table->table.entries[i].gid);
		engine->gid_table->table.entries[i] = there ? *there : (struct address){.gid = empty};
	}
	for (int i = 0; i < up.count; i++)
		add(&engine->gid_table->table, &up.entries[i]);
	changed = !says_the_same(&before, &engine->gid_table->table);
	pthread_mutex_unlock(&engine->gid_table->lock);
	return changed;
}

static void follow_change(void *unused)
{
	int changed = refresh();

	(void)unused;
	if (changed < 0)
		progress_timer_set(&engine->gid_table->retry, progress_now_ns() + RETRY_NS);
	if (changed <= 0)
		return;
	device_raise(IBV_EVENT_GID_CHANGE);
}

static void on_change(void *owner, uint32_t events)
{
	struct progress_watch *watch = owner;
	char messages[8192];

	(void)events;
	while (recv(watch->fd, messages, sizeof(messages), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		; /* that there were some is all that matters */
	follow_change(NULL);
}

static void start_watching(void *unused)
{
	struct progress_watch *watch = &engine->gid_table->watch;
	struct sockaddr_nl groups = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int error;

	(void)unused;
	watch->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (watch->fd < 0 || bind(watch->fd, (struct sockaddr *)&groups, sizeof(groups))) {
		log_warn("changes of the addresses of this host will not be seen: %s", strerror(errno));
		if (watch->fd >= 0)
			close(watch->fd);
		return;
	}
	error = progress_watch_set(watch, EPOLLIN);
	if (error) {
		log_warn("changes of the addresses of this host will not be seen: %s", strerror(-error));
		close(watch->fd);
		return;
	}
	follow_change(NULL);
	atomic_store(&engine->gid_table->is_followed, true);
}

void gid_table_follow(void)
{
	if (!atomic_load(&engine->gid_table->asked) && !progress_start() && !atomic_exchange(&engine->gid_table->asked, true))
		progress_post(&engine->gid_table->task);
}

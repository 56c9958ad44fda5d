/* SPDX-License-Identifier: Apache-2.0 */
/* The GID table: the addresses of this host, which every process lists in one order when it starts. */
#define _GNU_SOURCE
#include "device/gid_table.h"

#include "core.h"
#include "device/device.h"
#include "engine.h"
#include "lock.h"
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

enum { MAX_ADDRESSES = 1024 };

struct table {
	struct address entries[MAX_ADDRESSES];
	int count;
};

#define RETRY_NS 100000000ull

struct gid_table_state {
	pthread_once_t once;
	pthread_mutex_t lock;
	struct table table; /* lock; its count only grows */
	atomic_bool is_followed, asked, told_full;
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

/* Returns true if the two differ. Only their members are compared, because an entry has padding. */
static bool replace(struct address *entry, const struct address *by)
{
	bool differs = !is_same(&entry->gid, &by->gid) || entry->interface != by->interface;

	*entry = *by;
	return differs;
}

/* Adds the address in an empty entry or behind the last one. Returns true if that changed the table. */
static bool add(struct table *to, const struct address *address)
{
	struct address *entry = find(to, &address->gid);

	if (entry && (entry->interface || !address->interface))
		return false;
	if (!entry)
		entry = find(to, &empty);
	if (!entry && to->count < MAX_ADDRESSES)
		entry = &to->entries[to->count++];
	if (!entry && !atomic_exchange(&engine->gid_table->told_full, true))
		log_error("this host has more than %d addresses: processes are not found at the others", MAX_ADDRESSES);
	return entry && replace(entry, address);
}

static bool configured_primary(union ibv_gid *gid)
{
	const char *text = secure_getenv("SOFTVERBS_ADDRESS");

	*gid = (union ibv_gid){.raw = {[10] = 0xff, 0xff}};
	return text && (inet_pton(AF_INET, text, gid->raw + 12) == 1 || inet_pton(AF_INET6, text, gid->raw) == 1);
}

enum { RANK_V4, RANK_V6, RANK_LINK_LOCAL, RANK_LOOPBACK_V4, RANK_LOOPBACK_V6 };

/* Returns the place of the address in the order of the table, -1 if it does not belong there. */
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

/*
 * Makes the table that a new process would have; with `down`, the addresses of interfaces that are down are included.
 * 0, or an errno if the addresses of the host cannot be read.
 */
static int read_addresses(struct table *to, bool down)
{
	static const struct address localhost = {.gid.raw = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
	struct ifaddrs *list = NULL;
	int error = getifaddrs(&list) ? errno : 0;
	union ibv_gid gid;

	if (error)
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
	if (!to->count)
		add(to, &localhost);
	return error;
}

static void fill_table(void)
{
	struct table *table = &engine->gid_table->table;
	int error = read_addresses(table, false);
	char text[INET6_ADDRSTRLEN];

	if (error)
		log_error("the addresses of this host cannot be read (%s; they take AF_NETLINK): the device has %s alone; set "
			  "SOFTVERBS_ADDRESS to the one by which others reach this host",
			  strerror(error), gid_text(&table->entries[0].gid, text));
}

int gid_table_length(void)
{
	pthread_once(&engine->gid_table->once, fill_table);
	HOLD_LOCK(&engine->gid_table->lock);
	return 2 * engine->gid_table->table.count;
}

int gid_table_entry(int index, union ibv_gid *gid, enum ibv_gid_type *type)
{
	if (index < 0 || index >= gid_table_length())
		return -EINVAL;
	HOLD_LOCK(&engine->gid_table->lock);
	*gid = engine->gid_table->table.entries[index / 2].gid;
	if (type)
		*type = index % 2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
	return 0;
}

bool gid_table_is_empty_at(int index)
{
	union ibv_gid gid;

	return gid_table_entry(index, &gid, NULL) || is_same(&gid, &empty);
}

/* Copies the entry of one of this host's addresses; returns false if the GID is none of them. */
static bool look_up(const union ibv_gid *gid, struct address *entry)
{
	const struct address *found = NULL;

	gid_table_length();
	HOLD_LOCK(&engine->gid_table->lock);
	if (!is_same(gid, &empty))
		found = find(&engine->gid_table->table, gid);
	if (found)
		*entry = *found;
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
	return gid_is_link_local(gid) ? gid_interface(gid) : 0;
}

uint32_t gid_interface(const union ibv_gid *gid)
{
	struct address entry;

	return look_up(gid, &entry) ? entry.interface : 0;
}

/* Brings the table up to date. Returns 1 if that changed it, 0 if not, -EAGAIN if the addresses cannot be read. */
static int refresh(void)
{
	struct table *table = &engine->gid_table->table, up, all;
	bool changed = false;

	if (read_addresses(&up, false) || read_addresses(&all, true))
		return -EAGAIN;
	gid_table_length();
	HOLD_LOCK(&engine->gid_table->lock);
	for (int i = 0; i < table->count; i++) {
		const struct address *there = find(&up, &table->entries[i].gid);

		if (!there)
			there = find(&all, &table->entries[i].gid);
		changed |= replace(&table->entries[i], there ? there : &(const struct address){.gid = empty});
	}
	for (int i = 0; i < up.count; i++)
		changed |= add(table, &up.entries[i]);
	return changed;
}

static void follow_change(void *unused)
{
	int changed = refresh();

	(void)unused;
	if (changed < 0)
		progress_timer_set(&engine->gid_table->retry, progress_now_ns() + RETRY_NS);
	else if (changed)
		device_raise(IBV_EVENT_GID_CHANGE);
}

static void on_change(void *owner, uint32_t events)
{
	struct progress_watch *watch = owner;
	char messages[8192];

	(void)events;
	while (recv(watch->fd, messages, sizeof(messages), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		; /* only the arrival of messages matters, because the table is read anew */
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
	if (watch->fd < 0 || bind(watch->fd, (struct sockaddr *)&groups, sizeof(groups)))
		error = -errno;
	else
		error = progress_watch_set(watch, EPOLLIN);
	if (error) {
		log_warn("changes of the addresses of this host will not be seen: %s", strerror(-error));
		if (watch->fd >= 0)
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

/* SPDX-License-Identifier: Apache-2.0 */
#include "datagram/group.h"

#include "datagram/group_member.h"
#include "datagram/group_socket.h"
#include "datagram/ud_endpoint.h"
#include "datagram/ud_receive.h"
#include "device/device.h"
#include "device/gid_table.h"
#include "engine.h"
#include "exports.h"
#include "process/log.h"
#include "process/secret.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { DATAGRAMS_PER_TURN = 64 };

struct member {
	struct softdev_qp *qp;
	struct member *next;
};

struct group {
	union ibv_gid gid;
	struct progress_watch membership, remote; /* fd -1: none */
	struct member *members;
	struct group *next;
};

struct group_state {
	/* Progress thread only. */
	struct group *groups;
	int group_count;
	uint32_t interfaces[GID_TABLE_ADDRESSES]; /* what all groups have joined */
	int interface_count;
	struct group_datagram {
		struct ud_header header;
		uint8_t payload[UD_MAX_PAYLOAD];
	} datagram;
};

ENGINE_PART(group, NULL);

void group_normalize(union ibv_gid *gid)
{
	static const uint8_t mapped[10] = {[8] = 0xff, [9] = 0xff};

	if (gid->raw[0] == 0xff && !memcmp(gid->raw + 2, mapped, sizeof(mapped)) && (gid->raw[12] & 0xf0) == 0xe0)
		gid->raw[0] = gid->raw[1] = 0;
}

int group_count_of(const struct softdev_qp *qp)
{
	return qp->ud ? atomic_load(&qp->ud->groups) : 0;
}

static struct group **find(const union ibv_gid *gid)
{
	struct group **place = &engine->group->groups;

	while (*place && memcmp(&(*place)->gid, gid, sizeof(*gid)))
		place = &(*place)->next;
	return place;
}

void group_deliver(const struct ud_header *header, uint8_t *payload, uint32_t length, int most)
{
	union ibv_gid destination = header->destination;
	const struct group *group;

	group_normalize(&destination);
	group = *find(&destination);
	for (const struct member *member = group ? group->members : NULL; member; member = member->next)
		if (!member->qp->deaf_to_itself || member->qp->base.qp_num != header->source_qpn)
			ud_receive(member->qp, header, payload, length, most);
}

/* Two groups may be one for IP. */
static bool is_for(const struct group *group, const struct ud_header *header)
{
	union ibv_gid destination = header->destination;

	group_normalize(&destination);
	return !memcmp(&destination, &group->gid, sizeof(destination));
}

static void on_remote(void *owner, uint32_t events)
{
	struct group_datagram *datagram = &engine->group->datagram;
	const struct group *group = owner;

	(void)events;
	for (int i = 0; i < DATAGRAMS_PER_TURN; i++) {
		ssize_t length = recv(group->remote.fd, datagram, sizeof(*datagram), MSG_TRUNC);

		if (length < 0)
			return;
		if (ud_is_genuine(&datagram->header, length) && datagram->header.destination_qpn == UD_MULTICAST_QPN &&
		    is_for(group, &datagram->header))
			group_deliver(&datagram->header, datagram->payload, length - sizeof(datagram->header),
				      UD_HELD_MOST);
	}
}

static void ignore_events(void *owner, uint32_t events)
{
	(void)owner;
	(void)events;
}

static void close_watch(struct progress_watch *watch)
{
	progress_watch_remove(watch);
	if (watch->fd >= 0)
		close(watch->fd);
}

static void free_group(struct group *group)
{
	close_watch(&group->membership);
	close_watch(&group->remote);
	free(group);
}

static void join_all(const struct group *group)
{
	for (int i = 0; i < engine->group->interface_count; i++) {
		int error = group_socket_join(group->remote.fd, &group->gid, engine->group->interfaces[i]);

		if (error)
			log_info("multicast of other hosts does not come in by interface %u: %s", engine->group->interfaces[i],
				 strerror(-error));
	}
}

static bool is_there(uint32_t interface)
{
	for (int i = 0; i < engine->group->interface_count; i++)
		if (engine->group->interfaces[i] == interface)
			return true;
	return false;
}

/* The addresses of the host have changed, and with them its interfaces. */
static void follow_interfaces(void)
{
	uint32_t before[GID_TABLE_ADDRESSES];
	int count = engine->group->interface_count;

	memcpy(before, engine->group->interfaces, sizeof(before));
	engine->group->interface_count = gid_table_interfaces(engine->group->interfaces);
	for (const struct group *group = engine->group->groups; group; group = group->next) {
		if (group->remote.fd < 0)
			continue;
		for (int i = 0; i < count; i++)
			if (!is_there(before[i]))
				group_socket_leave(group->remote.fd, &group->gid, before[i]);
		join_all(group);
	}
}

/* 0 or -errno. */
static int start_hearing(struct group *group)
{
	if (!engine->group->interface_count) { /* perhaps the first group */
		gid_table_on_change(follow_interfaces);
		follow_interfaces();
	}
	join_all(group);
	return progress_watch_set(&group->remote, EPOLLIN);
}

/* 0 or a positive errno. Other hosts may have no way here: then the group is one of this host. */
static int open_group(uint16_t port, const union ibv_gid *gid, struct group **out)
{
	struct group *group = calloc(1, sizeof(*group));
	int error;

	if (!group)
		return ENOMEM;
	group->gid = *gid;
	group->remote = (struct progress_watch){.fd = -1, .callback = on_remote, .owner = group};
	/* Watched for nothing, but so that the child of a fork closes it. */
	group->membership = (struct progress_watch){
		.fd = group_become_member(port, gid), .callback = ignore_events, .owner = group};
	error = group->membership.fd < 0 ? group->membership.fd : progress_watch_set(&group->membership, EPOLLET);
	if (!error && secret_is_set()) {
		group->remote.fd = group_socket_open(gid);
		if (group->remote.fd < 0)
			log_info("multicast of other hosts does not come in: %s", strerror(-group->remote.fd));
		else
			error = start_hearing(group);
	}
	if (error) {
		free_group(group);
		return -error;
	}
	*out = group;
	return 0;
}

struct change {
	struct softdev_qp *qp;
	union ibv_gid gid;
	int error;
};

static struct member **find_member(struct group *group, const struct softdev_qp *qp)
{
	struct member **place = &group->members;

	while (*place && (*place)->qp != qp)
		place = &(*place)->next;
	return place;
}

static void attach(void *owner)
{
	struct change *change = owner;
	struct group **place = find(&change->gid);
	struct member *member;

	if (!*place && engine->group->group_count == DEVICE_MAX_GROUPS) {
		change->error = ENOMEM;
		return;
	}
	if (*place && *find_member(*place, change->qp))
		return; /* it receives one copy, however often it is attached */
	member = calloc(1, sizeof(*member));
	if (!member) {
		change->error = ENOMEM;
		return;
	}
	if (!*place) {
		change->error = open_group(change->qp->base.qp_num >> 8, &change->gid, place);
		if (change->error) {
			free(member);
			return;
		}
		engine->group->group_count++;
	}
	member->qp = change->qp;
	member->next = (*place)->members;
	(*place)->members = member;
	atomic_fetch_add(&change->qp->ud->groups, 1);
}

static void detach(void *owner)
{
	struct change *change = owner;
	struct group **place = find(&change->gid), *group = *place;
	struct member **member = group ? find_member(group, change->qp) : NULL, *gone;

	if (!member || !*member) {
		change->error = EINVAL;
		return;
	}
	gone = *member;
	*member = gone->next;
	free(gone);
	atomic_fetch_sub(&change->qp->ud->groups, 1);
	if (group->members)
		return;
	*place = group->next;
	engine->group->group_count--;
	free_group(group);
}

static int change_group(struct ibv_qp *base, const union ibv_gid *gid, void (*how)(void *change))
{
	struct change change = {.qp = to_qp(base)};
	int error;

	if (is_inherited(base->context))
		return EIO;
	if (!qp_is_live(change.qp))
		return ENOENT;
	if (base->qp_type != IBV_QPT_UD || !gid || !gid_is_multicast(gid))
		return EINVAL;
	change.gid = *gid;
	group_normalize(&change.gid);
	error = -progress_call(how, &change);
	return error ? error : change.error;
}

int softverbs_ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid; /* Ethernet has none */
	return change_group(qp, gid, attach);
}

int softverbs_ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return change_group(qp, gid, detach);
}

/* 0, -EAGAIN or -EFAULT. */
static int send_within_host(const struct ud_address *to, const struct msghdr *message, uint16_t *next)
{
	uint16_t ports[GROUP_MAX_PROCESSES];
	int count = group_find_members(&to->route.destination, ports);

	for (int i = 0; i < count; i++) {
		int error;

		if (ports[i] < *next)
			continue;
		*next = ports[i];
		error = ud_peer_send(ports[i], message);
		if (error)
			return error;
	}
	*next = 0;
	return 0;
}

int group_send(const struct ud_address *to, struct msghdr *message, uint16_t *next)
{
	int error = send_within_host(to, message, next);

	if (error || !secret_is_set())
		return error;
	error = group_socket_send(&to->route.destination, &to->route.source, message);
	if (error)
		log_debug("multicast to other hosts: %s", strerror(-error));
	return error == -EFAULT ? error : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/mcast.h"

#include "datagram/ud_inlet.h"
#include "datagram/ud_receive.h"
#include "datagram/ud_socket.h"
#include "device/gid_table.h"
#include "engine.h"
#include "exports.h"
#include "link/ports.h"
#include "process/log.h"
#include "process/secret.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* One queue pair in one group. */
struct member {
	struct list place;
	struct softdev_qp *qp;
};

struct group {
	struct list place;
	union ibv_gid gid;
	struct list members;
	struct ud_inlet inlet;
};

/* Progress thread only. */
struct mcast_state {
	struct list groups;
};

ENGINE_PART(mcast, NULL);

static struct group *find_group(const union ibv_gid *gid)
{
	LIST_EACH(at, &engine->mcast->groups) {
		struct group *group = container_of_(at, struct group, place);

		if (!memcmp(&group->gid, gid, sizeof(*gid)))
			return group;
	}
	return NULL;
}

static struct member *find_member(const struct group *group, const struct softdev_qp *qp)
{
	LIST_EACH(at, &group->members) {
		struct member *member = container_of_(at, struct member, place);

		if (member->qp == qp)
			return member;
	}
	return NULL;
}

/* The socket hears whatever is sent to its port, so the datagram has to name the group. */
static void on_datagram(void *owner, const struct ud_header *header, uint8_t *payload, uint32_t length)
{
	struct group *group = owner;

	if (header->destination_qpn != UD_GROUP_QPN || memcmp(&header->destination, &group->gid, sizeof(group->gid)))
		return;
	LIST_EACH(at, &group->members)
		ud_deliver_to(container_of_(at, struct member, place)->qp, header, payload, length);
}

/* Joins on every interface that has an address of the device, which is one port for all of them. 0 or -errno. */
static int join_interfaces(int fd, const union ibv_gid *gid)
{
	struct ipv6_mreq v6 = {.ipv6mr_interface = 0};
	struct ip_mreqn v4 = {.imr_ifindex = 0};
	int result = -ENODEV;

	memcpy(&v6.ipv6mr_multiaddr, gid->raw, sizeof(v6.ipv6mr_multiaddr));
	memcpy(&v4.imr_multiaddr, gid->raw + 12, sizeof(v4.imr_multiaddr));
	for (int i = 0; i < gid_table_length(); i += 2) {
		union ibv_gid address;

		gid_table_entry(i, &address, NULL);
		v6.ipv6mr_interface = v4.imr_ifindex = gid_interface(&address);
		if (!(gid_is_mapped_v4(gid) ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4))
					    : setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &v6, sizeof(v6))))
			result = 0;
		else if (result && errno != EADDRINUSE)
			result = -errno;
	}
	return result;
}

/* Returns a socket that hears the group, or -errno. */
static int open_socket(const union ibv_gid *gid)
{
	/* A sockaddr_in has its family and its port in the same places, and its address is zeros, too. */
	struct sockaddr_in6 any = {.sin6_family = gid_is_mapped_v4(gid) ? AF_INET : AF_INET6, .sin6_port = htons(UD_GROUP_PORT)};
	int fd = socket(any.sin6_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, error;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (any.sin6_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)))
		error = -errno;
	else
		error = join_interfaces(fd, gid);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

/* Ends the group if nobody is left in it. */
static void leave_if_empty(struct group *group)
{
	if (!list_is_empty(&group->members))
		return;
	list_remove(&group->place);
	progress_watch_remove(&group->inlet.watch);
	if (group->inlet.watch.fd >= 0)
		close(group->inlet.watch.fd);
	free(group);
}

/* Returns the group, new or not, or NULL with *error set. */
static struct group *enter_group(const union ibv_gid *gid, int *error)
{
	struct group *group = find_group(gid);

	if (group)
		return group;
	group = calloc(1, sizeof(*group));
	*error = ENOMEM;
	if (!group)
		return NULL;
	group->gid = *gid;
	group->inlet = (struct ud_inlet){.watch.fd = open_socket(gid), .on_datagram = on_datagram, .owner = group};
	*error = group->inlet.watch.fd < 0 ? -group->inlet.watch.fd : -ud_inlet_open(&group->inlet);
	list_add(&engine->mcast->groups, &group->place);
	if (!*error)
		return group;
	leave_if_empty(group);
	return NULL;
}

struct call {
	struct softdev_qp *qp;
	const union ibv_gid *gid;
	int error;
};

static void attach(void *owner)
{
	struct call *call = owner;
	struct group *group = enter_group(call->gid, &call->error);
	struct member *member;

	if (!group || find_member(group, call->qp))
		return;
	member = calloc(1, sizeof(*member));
	if (member) {
		member->qp = call->qp;
		list_add(&group->members, &member->place);
		atomic_fetch_add(&call->qp->ud->groups, 1);
	} else {
		call->error = ENOMEM;
	}
	leave_if_empty(group);
}

static void detach(void *owner)
{
	struct call *call = owner;
	struct group *group = find_group(call->gid);
	struct member *member = group ? find_member(group, call->qp) : NULL;

	call->error = member ? 0 : EINVAL;
	if (!member)
		return;
	list_remove(&member->place);
	free(member);
	atomic_fetch_sub(&call->qp->ud->groups, 1);
	leave_if_empty(group);
}

static int change(struct ibv_qp *base, const union ibv_gid *gid, void (*how)(void *call))
{
	struct call call = {.qp = to_qp(base), .gid = gid};
	int error = is_inherited(base->context) ? EIO : 0;

	if (!error && (!qp_is_live(call.qp) || !call.qp->ud || !gid_is_multicast(gid)))
		error = EINVAL;
	if (!error)
		error = -progress_call(how, &call);
	return errno = error ? error : call.error;
}

int softverbs_ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid; /* RoCE has none */
	return change(qp, gid, attach);
}

int softverbs_ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return change(qp, gid, detach);
}

bool mcast_has(const struct softdev_qp *qp)
{
	return atomic_load(&qp->ud->groups);
}

int mcast_send(const struct ud_address *to, uint16_t port, struct msghdr *message)
{
	int hops = secret_is_set(), fd = process_socket(port, PORT_UDP);

	/* Without a secret it does not leave the host. Which family the socket is of, one of the two options fails. */
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops));
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	return ud_socket_send_to(to, fd, UD_GROUP_PORT, message);
}

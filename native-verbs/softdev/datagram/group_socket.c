/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/group_socket.h"

#include "core.h"
#include "datagram/group.h"
#include "datagram/ud_socket.h"
#include "engine.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { HOPS = 32, SCOPE_LINK = 2, SCOPE_SITE = 5 };

static bool is_v4(const union ibv_gid *gid)
{
	return gid->raw[0] != 0xff;
}

static socklen_t address_of(const union ibv_gid *gid, struct sockaddr_storage *address)
{
	union ibv_gid group = *gid;

	if (!is_v4(gid) && (group.raw[1] & 0xf) <= SCOPE_LINK)
		group.raw[1] = (group.raw[1] & 0xf0) | SCOPE_SITE;
	return gid_to_address(&group, GROUP_PORT, address);
}

/* A socket bound to the group, which others may bind too. */
static int open_bound(const struct sockaddr *group, socklen_t length)
{
	int on = 1, error;
	int fd = socket(group->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	ud_enlarge_receive_buffer(fd);
	if (!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) && !bind(fd, group, length))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int group_socket_open(const union ibv_gid *gid)
{
	struct sockaddr_storage group;
	socklen_t length = address_of(gid, &group);
	int fd = open_bound((struct sockaddr *)&group, length), off = 0;

	if (fd >= 0) /* nothing but what was joined here */
		setsockopt(fd, is_v4(gid) ? IPPROTO_IP : IPPROTO_IPV6, is_v4(gid) ? IP_MULTICAST_ALL : IPV6_MULTICAST_ALL, &off,
			   sizeof(off));
	return fd;
}

static int change_membership(int fd, const union ibv_gid *gid, uint32_t interface, int how)
{
	struct group_req request = {.gr_interface = interface};

	address_of(gid, &request.gr_group);
	return setsockopt(fd, is_v4(gid) ? IPPROTO_IP : IPPROTO_IPV6, how, &request, sizeof(request)) ? -errno : 0;
}

int group_socket_join(int fd, const union ibv_gid *gid, uint32_t interface)
{
	int error = change_membership(fd, gid, interface, MCAST_JOIN_GROUP);

	return error == -EADDRINUSE ? 0 : error; /* it has */
}

void group_socket_leave(int fd, const union ibv_gid *gid, uint32_t interface)
{
	change_membership(fd, gid, interface, MCAST_LEAVE_GROUP);
}

struct group_socket_state {
	pthread_once_t once;
	int v4, v6; /* senders, -1 where the host has none */
};

ENGINE_PART(group_socket, NULL);

/* Others of this host have had theirs. */
static int open_sender(int family)
{
	int off = 0, hops = HOPS;
	int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && family == AF_INET) {
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_LOOP, &off, sizeof(off));
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops));
	} else if (fd >= 0) {
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, &off, sizeof(off));
		setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, &hops, sizeof(hops));
	}
	return fd;
}

static void open_senders(void)
{
	engine->group_socket->v4 = open_sender(AF_INET);
	engine->group_socket->v6 = open_sender(AF_INET6);
}

static int send_to(int fd, struct msghdr *message)
{
	for (int attempt = 0; attempt < 3; attempt++)
		if (sendmsg(fd, message, MSG_NOSIGNAL) >= 0)
			return 0;
		else if (errno == EAGAIN || errno == EFAULT)
			break;
	return -errno;
}

int group_socket_send(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message)
{
	int interface = gid_interface(source);
	struct sockaddr_storage group;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {.bytes = {0}};

	if (!interface)
		return -ENODEV;
	pthread_once(&engine->group_socket->once, open_senders);
	message->msg_name = &group;
	message->msg_namelen = address_of(gid, &group);
	message->msg_control = control.bytes;
	if (is_v4(gid)) {
		struct in_pktinfo info = {.ipi_ifindex = interface};

		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(info)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
		memcpy(CMSG_DATA(&control.header), &info, sizeof(info));
		message->msg_controllen = CMSG_SPACE(sizeof(info));
	} else {
		struct in6_pktinfo info = {.ipi6_ifindex = interface};

		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(info)),
						  .cmsg_level = IPPROTO_IPV6,
						  .cmsg_type = IPV6_PKTINFO};
		memcpy(CMSG_DATA(&control.header), &info, sizeof(info));
		message->msg_controllen = CMSG_SPACE(sizeof(info));
	}
	return send_to(is_v4(gid) ? engine->group_socket->v4 : engine->group_socket->v6, message);
}

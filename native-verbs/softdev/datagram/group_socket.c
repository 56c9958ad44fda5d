/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "group_socket.h"

#include "core.h"
#include "group.h"
#include "ud_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { HOPS = 32 };

static bool is_v4(const union ibv_gid *gid)
{
	return gid->raw[0] != 0xff;
}

static socklen_t address_of(const union ibv_gid *gid, struct sockaddr_storage *address)
{
	return gid_to_address(gid, GROUP_PORT, address);
}

static int loopback_index(void)
{
	int index = if_nametoindex("lo");

	return index ? index : 1;
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

static int join_v4(int fd, struct in_addr group, int interface)
{
	struct ip_mreqn request = {.imr_multiaddr = group, .imr_ifindex = interface};
	int off = 0;

	return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof(off)) ||
			       setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request))
		       ? -errno
		       : 0;
}

static int join_v6(int fd, const union ibv_gid *group, int interface)
{
	struct ipv6_mreq request = {.ipv6mr_interface = interface};
	int off = 0;

	memcpy(&request.ipv6mr_multiaddr, group->raw, 16);
	setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &off, sizeof(off));
	return setsockopt(fd, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof(request)) ? -errno : 0;
}

/* On each interface that takes multicast; how many there are. */
static int join_everywhere(int fd, const union ibv_gid *gid)
{
	struct if_nameindex *interfaces = if_nameindex();
	struct in_addr v4;
	int joined = 0;

	memcpy(&v4, gid->raw + 12, sizeof(v4));
	for (struct if_nameindex *i = interfaces; i && i->if_index; i++)
		if ((int)i->if_index != loopback_index())
			joined += !(is_v4(gid) ? join_v4(fd, v4, i->if_index)
					       : join_v6(fd, gid, i->if_index));
	if (interfaces)
		if_freenameindex(interfaces);
	return joined;
}

int group_socket_open(const union ibv_gid *gid)
{
	struct sockaddr_storage group;
	socklen_t length = address_of(gid, &group);
	int fd = open_bound((struct sockaddr *)&group, length);

	if (fd < 0 || join_everywhere(fd, gid))
		return fd;
	close(fd);
	return -ENODEV;
}

struct senders {
	int v4, v6; /* -1 where the host has none */
};

static struct senders senders = {-1, -1};
static pthread_once_t senders_once = PTHREAD_ONCE_INIT;

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
	senders.v4 = open_sender(AF_INET);
	senders.v6 = open_sender(AF_INET6);
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

/* 0 if no interface has that address, or only the loopback one. */
static int interface_of(const union ibv_gid *address)
{
	struct ifaddrs *list = NULL;
	int index = 0;

	if (getifaddrs(&list))
		return 0;
	for (const struct ifaddrs *entry = list; entry && !index; entry = entry->ifa_next) {
		union ibv_gid own;

		if (!entry->ifa_addr || (entry->ifa_flags & IFF_LOOPBACK) ||
		    (entry->ifa_addr->sa_family != AF_INET && entry->ifa_addr->sa_family != AF_INET6))
			continue;
		gid_from_address(entry->ifa_addr, &own);
		if (!memcmp(&own, address, sizeof(own)))
			index = if_nametoindex(entry->ifa_name);
	}
	freeifaddrs(list);
	return index;
}

int group_socket_send(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message)
{
	int interface = interface_of(source);
	struct sockaddr_storage group;
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {.bytes = {0}};

	if (!interface)
		return -ENODEV;
	pthread_once(&senders_once, open_senders);
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
	return send_to(is_v4(gid) ? senders.v4 : senders.v6, message);
}

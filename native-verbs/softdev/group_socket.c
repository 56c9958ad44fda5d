/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "group_socket.h"

#include "core.h"
#include "group.h"
#include "log.h"
#include "progress.h"
#include "ud_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HOPS = 32, KNOWN_SENDERS = 64 };

#define KNOWN_FOR_NS 1000000000ull
#define LOCAL_GROUPS 0xefc00000u /* 239.192/10, of RFC 2365 */

static bool is_v4(const union ibv_gid *gid)
{
	return gid->raw[0] != 0xff;
}

/* On the loopback interface every group is an IPv4 one; two may share one, for the header names the true one. */
static struct sockaddr_in local_group(const union ibv_gid *gid)
{
	uint32_t hash = 0x811c9dc5;

	for (int i = 0; i < 16; i++)
		hash = (hash ^ gid->raw[i]) * 0x01000193;
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(GROUP_PORT),
				    .sin_addr.s_addr = htonl(LOCAL_GROUPS | (hash ^ hash >> 10) >> 10)};
}

static socklen_t remote_group(const union ibv_gid *gid, struct sockaddr_storage *address)
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

int group_open_local(const union ibv_gid *gid)
{
	struct sockaddr_in group = local_group(gid);
	int fd = open_bound((struct sockaddr *)&group, sizeof(group));
	int error;

	if (fd < 0)
		return fd;
	error = join_v4(fd, group.sin_addr, loopback_index());
	if (!error)
		return fd;
	close(fd);
	return error;
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

int group_open_remote(const union ibv_gid *gid)
{
	struct sockaddr_storage group;
	socklen_t length = remote_group(gid, &group);
	int fd = open_bound((struct sockaddr *)&group, length);

	if (fd < 0 || join_everywhere(fd, gid))
		return fd;
	close(fd);
	return -ENODEV;
}

struct senders {
	int local, v4, v6; /* -1 where the host has none */
};

static struct senders senders = {-1, -1, -1};
static pthread_once_t senders_once = PTHREAD_ONCE_INIT;

/* Others of this host have had theirs over the loopback interface. */
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
	struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ip_mreqn interface = {.imr_ifindex = loopback_index()};
	int hops = 0; /* not beyond this host */
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd >= 0 && (bind(fd, (struct sockaddr *)&loopback, sizeof(loopback)) ||
			setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &interface, sizeof(interface)) ||
			setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &hops, sizeof(hops)))) {
		log_warn("no multicast on the loopback interface: %s", strerror(errno));
		close(fd);
		fd = -1;
	}
	senders.local = fd;
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

int group_send_local(const union ibv_gid *gid, struct msghdr *message)
{
	struct sockaddr_in group = local_group(gid);

	pthread_once(&senders_once, open_senders);
	message->msg_name = &group;
	message->msg_namelen = sizeof(group);
	return send_to(senders.local, message);
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

int group_send_remote(const union ibv_gid *gid, const union ibv_gid *source, struct msghdr *message)
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
	message->msg_namelen = remote_group(gid, &group);
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

/* The owner of the socket that is bound to this address, as this process's user namespace names him. */
static bool owner_of(const struct sockaddr_in *address, uid_t *owner)
{
	char line[256];
	FILE *file = fopen("/proc/net/udp", "re");
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		uint32_t ip;
		unsigned int port, uid;

		found = sscanf(line, " %*u: %" SCNx32 ":%x %*x:%*x %*x %*x:%*x %*x:%*x %*x %u", &ip, &port, &uid) == 3 &&
			ip == address->sin_addr.s_addr && port == ntohs(address->sin_port);
		*owner = uid;
	}
	if (file)
		fclose(file);
	return found;
}

bool group_sender_is_own_user(const struct sockaddr_in *from)
{
	/* Progress thread only. A port that changes hands is seen within KNOWN_FOR_NS. */
	static struct {
		uint16_t port;
		uint64_t until_ns;
	} known[KNOWN_SENDERS];
	uint64_t now = progress_now_ns();
	uint16_t port = from->sin_port;
	int slot = ntohs(port) % KNOWN_SENDERS;
	uid_t owner;

	if (from->sin_family != AF_INET || from->sin_addr.s_addr != htonl(INADDR_LOOPBACK))
		return false;
	if (known[slot].port == port && now < known[slot].until_ns)
		return true;
	if (!owner_of(from, &owner) || owner != geteuid())
		return false;
	known[slot].port = port;
	known[slot].until_ns = now + KNOWN_FOR_NS;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "datagram/ud_socket.h"

#include "datagram/ud_genuine.h"
#include "device/gid_table.h"
#include "link/link.h"
#include "link/ports.h"
#include "process/log.h"
#include "process/progress.h"
#include "process/secret.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>

enum { ROOM_WAIT_MS = 100 };

/* An IPv6 socket takes IPv4 addresses as mapped ones. */
static socklen_t fill_destination(const struct ud_address *to, uint16_t port, bool v6_socket, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	if (!v6_socket)
		return gid_to_address(&to->route.destination, port, out);
	memset(out, 0, sizeof(*out));
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, to->route.destination.raw, 16);
	v6->sin6_scope_id = gid_scope(&to->route.source);
	return sizeof(*v6);
}

/* Makes the datagram leave from the address that it names. */
static void fill_source(const struct ud_address *to, struct cmsghdr *control)
{
	const union ibv_gid *source = &to->route.source;
	struct in6_pktinfo info = {.ipi6_ifindex = to->route.group ? gid_interface(source) : gid_scope(source)};

	memcpy(&info.ipi6_addr, to->route.source.raw, 16);
	control->cmsg_level = IPPROTO_IPV6;
	control->cmsg_type = IPV6_PKTINFO;
	control->cmsg_len = CMSG_LEN(sizeof(info));
	memcpy(CMSG_DATA(control), &info, sizeof(info));
}

int ud_socket_send_to(const struct ud_address *to, int fd, uint16_t port, struct msghdr *message)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control = {.bytes = {0}};
	struct sockaddr_storage destination;
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	int family = AF_INET;
	socklen_t length = sizeof(family);

	getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length);
	message->msg_name = &destination;
	message->msg_namelen = fill_destination(to, port, family == AF_INET6, &destination);
	if (family == AF_INET6) {
		message->msg_control = control.bytes;
		message->msg_controllen = sizeof(control.bytes);
		fill_source(to, &control.align);
	}
	for (int attempt = 0; attempt < 3; attempt++) {
		if (sendmsg(fd, message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
			return 0;
		if (errno == EFAULT)
			return -EFAULT;
		if (errno == EAGAIN && !progress_on_thread())
			poll(&room, 1, ROOM_WAIT_MS);
		/* Any other error may be an ICMP message about an earlier datagram. */
		log_debug("datagram to QPN %06x not sent: %s", to->qpn, strerror(errno));
	}
	return 0;
}

int ud_socket_send(const struct ud_address *to, uint16_t port, struct msghdr *message)
{
	bool may_send = to->route.local ? secret_is_set() || ud_is_own_users(to->qpn >> 8) : link_may_reach(&to->route.destination);

	return may_send ? ud_socket_send_to(to, process_socket(port, PORT_UDP), to->qpn >> 8, message) : 0;
}

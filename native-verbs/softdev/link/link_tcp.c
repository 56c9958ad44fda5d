/* SPDX-License-Identifier: Apache-2.0 */
#include "link/link_tcp.h"

#include "core.h"

#include <errno.h>
#include <linux/tcp.h> /* <netinet/tcp.h> lacks tcpi_min_rtt */
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * When the kernel gives up a connection with a silent peer. Queue pairs do not wait for that, since their own retries
 * end sooner; it frees what a dead host left behind, and it bounds a timeout of 0, which means for ever.
 */
enum { IDLE_SECONDS = 30, PROBE_SECONDS = 10, PROBES = 3, SILENCE_MS = 60000 };

/* 256 KiB in 30 us are 70 Gbit/s. */
enum { SHORT_PATH_US = 30, SHORT_PATH_BYTES = 256 << 10 };

static bool set(int fd, int level, int option, int value)
{
	return !setsockopt(fd, level, option, &value, sizeof(value));
}

/* A connection works without any of these, which not every kernel and sandbox has. */
static void set_options(int fd)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_SECONDS);
	set(fd, IPPROTO_TCP, TCP_KEEPINTVL, PROBE_SECONDS);
	set(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, SILENCE_MS);
}

static int bind_source(int fd, const union ibv_gid *source)
{
	struct sockaddr_storage address;
	socklen_t length = gid_to_address(source, 0, &address);

	set(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1); /* saves ports of the host, if the kernel knows it */
	return bind(fd, (struct sockaddr *)&address, length) ? errno : 0;
}

static void set_scope(struct sockaddr_storage *address, const union ibv_gid *source)
{
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) && !v6->sin6_scope_id)
		v6->sin6_scope_id = gid_scope(source);
}

int tcp_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port, int *fd)
{
	struct sockaddr_storage address;
	socklen_t length = gid_to_address(destination, port, &address);
	int error;

	set_scope(&address, source);
	*fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*fd < 0)
		return errno;
	set_options(*fd);
	error = bind_source(*fd, source);
	if (!error && connect(*fd, (struct sockaddr *)&address, length) && errno != EINPROGRESS)
		error = errno;
	return error;
}

bool tcp_tune(int fd)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) && info.tcpi_min_rtt &&
	       info.tcpi_min_rtt <= SHORT_PATH_US && set(fd, SOL_SOCKET, SO_SNDBUF, SHORT_PATH_BYTES);
}

uint64_t tcp_taken_ago_ns(int fd, uint64_t *acked)
{
	struct tcp_info info = {0};
	socklen_t length = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) || info.tcpi_bytes_acked == *acked)
		return UINT64_MAX;
	*acked = info.tcpi_bytes_acked;
	return info.tcpi_last_ack_recv * 1000000ull;
}

int tcp_result(int fd)
{
	int error = 0;
	socklen_t length = sizeof(error);

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) ? errno : error;
}

uint32_t tcp_peer_scope(int fd)
{
	struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address;
	socklen_t length = sizeof(address);

	return !getpeername(fd, (struct sockaddr *)&address, &length) && address.ss_family == AF_INET6 ? v6->sin6_scope_id
												       : 0;
}

int tcp_accepted(int fd, union ibv_gid *own, union ibv_gid *peer)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);

	if (getpeername(fd, (struct sockaddr *)&address, &length))
		return errno;
	gid_from_address((struct sockaddr *)&address, peer);
	length = sizeof(address);
	if (getsockname(fd, (struct sockaddr *)&address, &length))
		return errno;
	gid_from_address((struct sockaddr *)&address, own);
	set_options(fd);
	return 0;
}

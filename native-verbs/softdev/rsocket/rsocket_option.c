/* SPDX-License-Identifier: Apache-2.0 */
/* Names and options of rsockets. */
#define _GNU_SOURCE
#include "rsocket.h"

#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <string.h>

#include <rdma/rsocket.h>

#include "cm_exports.h"
#include "rsocket_exports.h"

enum { BUFFER_BYTES = RS_SLOTS * RS_SLOT_BYTES };

/* What programs may set and read back; the sizes of queues and buffers stay as they are. */
static const struct option {
	int level, name;
	int fixed; /* what it always says, or -1 */
} options[] = {
	{SOL_SOCKET, SO_REUSEADDR, -1},	  {SOL_SOCKET, SO_KEEPALIVE, -1},	  {SOL_SOCKET, SO_OOBINLINE, -1},
	{SOL_SOCKET, SO_SNDBUF, BUFFER_BYTES},	  {SOL_SOCKET, SO_RCVBUF, BUFFER_BYTES},  {SOL_SOCKET, SO_TYPE, SOCK_STREAM},
	{SOL_SOCKET, SO_PROTOCOL, IPPROTO_TCP},	  {IPPROTO_TCP, TCP_NODELAY, -1},	  {IPPROTO_TCP, TCP_KEEPIDLE, -1},
	{IPPROTO_TCP, TCP_KEEPINTVL, -1},	  {IPPROTO_TCP, TCP_KEEPCNT, -1},	  {IPPROTO_TCP, TCP_MAXSEG, RS_SLOT_BYTES},
	{SOL_RDMA, RDMA_SQSIZE, RS_SLOTS}, {SOL_RDMA, RDMA_RQSIZE, RS_SLOTS}, {SOL_RDMA, RDMA_INLINE, 0},
	{SOL_RDMA, RDMA_IOMAPSIZE, RS_IOMAPS}, {SOL_SOCKET, SO_REUSEPORT, -1},
};

_Static_assert(sizeof(options) / sizeof(options[0]) <= sizeof(((struct rsocket *)NULL)->options) / sizeof(int),
	       "a place for each option");

static int find_option(int level, int name)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (options[i].level == level && options[i].name == name)
			return (int)i;
	return -1;
}

static int set_linger(struct rsocket *rs, const void *value, socklen_t length)
{
	struct linger linger;

	if (length < sizeof(linger))
		return EINVAL;
	memcpy(&linger, value, sizeof(linger));
	if (linger.l_onoff)
		rs->linger_ms = linger.l_linger < 0 || linger.l_linger > INT_MAX / 1000 ? INT_MAX : linger.l_linger * 1000;
	return 0;
}

static int set_of_id(struct rsocket *rs, int option, int value)
{
	return softverbs_rdma_set_option(rs->id, RDMA_OPTION_ID, option, &value, sizeof(value)) ? errno : 0;
}

int softverbs_rsetsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	struct rsocket *rs = rs_get(fd);
	int found = find_option(level, name), number, error = 0;

	if (!rs)
		return -1;
	if (level == SOL_SOCKET && name == SO_LINGER) {
		error = set_linger(rs, value, length);
	} else if (level == IPPROTO_IPV6 && name == IPV6_V6ONLY && length >= sizeof(number)) {
		memcpy(&number, value, sizeof(number));
		error = set_of_id(rs, RDMA_OPTION_ID_AFONLY, number);
	} else if (found < 0) {
		error = ENOPROTOOPT;
	} else if (length < sizeof(number)) {
		error = EINVAL;
	} else {
		memcpy(&number, value, sizeof(number));
		if (name == SO_REUSEADDR && level == SOL_SOCKET)
			error = set_of_id(rs, RDMA_OPTION_ID_REUSEADDR, number);
		if (!error)
			rs->options[found] = number;
	}
	rs_put(rs);
	return rs_result(error);
}

int softverbs_rgetsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	struct rsocket *rs = rs_get(fd);
	int found = find_option(level, name), number = 0, error = 0;

	if (!rs)
		return -1;
	if (*length < sizeof(number)) {
		error = EINVAL;
	} else if (level == SOL_SOCKET && name == SO_ERROR) {
		rs_progress(rs);
		number = rs->error;
		rs->error = 0;
	} else if (level == SOL_SOCKET && name == SO_DOMAIN) {
		number = rs->domain;
	} else if (found < 0) {
		error = ENOPROTOOPT;
	} else {
		number = options[found].fixed < 0 ? rs->options[found] : options[found].fixed;
	}
	if (!error) {
		memcpy(value, &number, sizeof(number));
		*length = sizeof(number);
	}
	rs_put(rs);
	return rs_result(error);
}

int softverbs_rfcntl(int fd, int command, ...)
{
	struct rsocket *rs = rs_get(fd);
	va_list arguments;
	int result = 0;

	if (!rs)
		return -1;
	va_start(arguments, command);
	if (command == F_GETFL)
		result = rs->file_flags | O_RDWR;
	else if (command == F_SETFL)
		rs->file_flags = va_arg(arguments, int) & O_NONBLOCK;
	else if (command != F_GETFD && command != F_SETFD)
		result = rs_result(ENOTSUP);
	else if (command == F_GETFD)
		result = FD_CLOEXEC; /* an rsocket ends with its program, whatever it is told */
	va_end(arguments);
	rs_put(rs);
	return result;
}

int rs_copy_address(const struct sockaddr *from, struct sockaddr *to, socklen_t *length)
{
	socklen_t whole = from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	if (!to || !length)
		return EFAULT;
	memcpy(to, from, *length < whole ? *length : whole);
	*length = whole;
	return 0;
}

int softverbs_rgetpeername(int fd, struct sockaddr *address, socklen_t *length)
{
	struct rsocket *rs = rs_get(fd);
	int error;

	if (!rs)
		return -1;
	error = rs->state == RS_CONNECTED ? rs_copy_address(rdma_get_peer_addr(rs->id), address, length) : ENOTCONN;
	rs_put(rs);
	return rs_result(error);
}

int softverbs_rgetsockname(int fd, struct sockaddr *address, socklen_t *length)
{
	struct rsocket *rs = rs_get(fd);
	struct sockaddr_storage unbound = {0};
	const struct sockaddr *local;
	int error;

	if (!rs)
		return -1;
	local = rdma_get_local_addr(rs->id);
	unbound.ss_family = (sa_family_t)rs->domain;
	error = rs_copy_address(local->sa_family ? local : (struct sockaddr *)&unbound, address, length);
	rs_put(rs);
	return rs_result(error);
}

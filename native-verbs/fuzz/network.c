/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel does for a TCP socket, on one end of a socket pair: what is fuzzed is what arrives on it. And whether
 * the other end knows the secret, which no fuzzer guesses.
 */
#include "harness.h"

#include <sys/socket.h>
#include <unistd.h>

struct fuzz_network fuzz_network = {.connected_fd = -1};

int __real_secure_equal(const uint8_t *a, const uint8_t *b, size_t length);
int __wrap_secure_equal(const uint8_t *a, const uint8_t *b, size_t length);
int __wrap_tcp_accepted(int fd, union ibv_gid *own, union ibv_gid *peer);
int __wrap_tcp_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port, int *fd);
int __wrap_tcp_result(int fd);

int __wrap_secure_equal(const uint8_t *a, const uint8_t *b, size_t length)
{
	return fuzz_network.right_mac || __real_secure_equal(a, b, length);
}

int __wrap_tcp_accepted(int fd, union ibv_gid *own, union ibv_gid *peer)
{
	(void)fd;
	*own = fuzz_network.own;
	*peer = fuzz_network.peer;
	return 0;
}

int __wrap_tcp_connect(const union ibv_gid *source, const union ibv_gid *destination, uint16_t port, int *fd)
{
	int fds[2];

	(void)source;
	(void)destination;
	(void)port;
	FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds));
	*fd = fds[0];
	if (fuzz_network.connected_fd >= 0) /* an earlier one that the target has no use for */
		close(fuzz_network.connected_fd);
	fuzz_network.connected_fd = fds[1];
	return 0;
}

int __wrap_tcp_result(int fd)
{
	(void)fd;
	return 0;
}

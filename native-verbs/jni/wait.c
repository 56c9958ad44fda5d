/* SPDX-License-Identifier: Apache-2.0 */
#include "natives.h"

#include <fcntl.h>
#include <poll.h>
#include <time.h>

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int wait_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int64_t deadline = timeout_ms < 0 ? 0 : now_ms() + timeout_ms;
	int remaining = timeout_ms;

	for (;;) {
		int ready = poll(&poll_fd, 1, remaining);

		if (ready > 0)
			return poll_fd.revents & POLLNVAL ? -EBADF : 1;
		if (ready == 0)
			return 0;
		if (errno != EINTR)
			return -errno;
		if (timeout_ms >= 0) {
			int64_t left = deadline - now_ms();

			remaining = left > 0 ? (int)left : 0;
		}
	}
}

int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -1;
	return flags & O_NONBLOCK ? 0 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

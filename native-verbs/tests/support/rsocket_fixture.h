/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that the tests of rsockets share; each fails the test if it does not work. */
#ifndef SHUFFLE_RDMA_RSOCKET_FIXTURE_H
#define SHUFFLE_RDMA_RSOCKET_FIXTURE_H

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>

#include "rsocket_exports.h"
#include "test.h"

/* A listener on a free port of 127.0.0.1. */
static inline int rs_listen(struct sockaddr_in *address)
{
	socklen_t length = sizeof(*address);
	int listener = softverbs_rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(listener >= 0);
	*address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	CHECK(!softverbs_rbind(listener, (struct sockaddr *)address, length));
	CHECK(!softverbs_rlisten(listener, 8));
	CHECK(!softverbs_rgetsockname(listener, (struct sockaddr *)address, &length));
	CHECK(address->sin_port);
	return listener;
}

static inline void rs_set_nonblocking(int fd, bool on)
{
	CHECK(!softverbs_rfcntl(fd, F_SETFL, on ? O_NONBLOCK : 0));
}

static inline short rs_events(int fd, short events, int timeout_ms)
{
	struct pollfd request = {.fd = fd, .events = events};

	return softverbs_rpoll(&request, 1, timeout_ms) == 1 ? request.revents : 0;
}

static inline int rs_connect(const struct sockaddr_in *address)
{
	int fd = softverbs_rsocket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(!softverbs_rconnect(fd, (const struct sockaddr *)address, sizeof(*address)));
	return fd;
}

/* Both ends of a connection in this process. */
static inline void rs_pair(int ends[2])
{
	struct sockaddr_in address;
	int listener = rs_listen(&address);

	ends[0] = softverbs_rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK(ends[0] >= 0);
	rs_set_nonblocking(ends[0], true);
	CHECK_EQUAL(softverbs_rconnect(ends[0], (struct sockaddr *)&address, sizeof(address)), -1);
	CHECK_EQUAL(errno, EINPROGRESS);
	/* Its events are taken by calls on it: there is no thread that does. */
	while (!rs_events(listener, POLLIN, 0))
		rs_events(ends[0], POLLOUT, 1);
	ends[1] = softverbs_raccept(listener, NULL, NULL);
	CHECK(ends[1] >= 0);
	CHECK_EQUAL(rs_events(ends[0], POLLOUT, 10000), POLLOUT);
	rs_set_nonblocking(ends[0], false);
	CHECK(!softverbs_rclose(listener));
}

static inline int rs_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	CHECK(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

#endif

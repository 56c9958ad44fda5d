/* SPDX-License-Identifier: Apache-2.0 */
/* rpoll() and rselect() tell of an rsocket what poll() tells of a TCP socket, and wait for others at its side. */
#include "rsocket_fixture.h"

enum { CHUNK = 100000 };

static void room_comes_back(int from, int to)
{
	static char chunk[CHUNK];
	size_t sent = 0, received = 0;
	ssize_t part;

	while ((part = softverbs_rsend(from, chunk, sizeof(chunk), MSG_DONTWAIT)) > 0)
		sent += (size_t)part;
	CHECK_EQUAL(errno, EAGAIN);
	CHECK(sent);
	CHECK_EQUAL(rs_events(from, POLLOUT, 0), 0);
	CHECK_EQUAL(rs_events(to, POLLIN, 5000), POLLIN);
	while (received < sent) {
		part = softverbs_rrecv(to, chunk, sizeof(chunk), 0);
		CHECK(part > 0);
		received += (size_t)part;
	}
	CHECK_EQUAL(rs_events(from, POLLOUT, 5000), POLLOUT);
	CHECK_EQUAL(rs_events(to, POLLIN, 0), 0);
}

static void others_at_its_side(int end)
{
	struct timeval soon = {.tv_sec = 0, .tv_usec = 20000};
	struct pollfd fds[2];
	fd_set readable;
	int pipe_ends[2];

	CHECK(!pipe(pipe_ends));
	fds[0] = (struct pollfd){.fd = end, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = pipe_ends[0], .events = POLLIN};
	CHECK_EQUAL(softverbs_rpoll(fds, 2, 20), 0);
	CHECK_EQUAL(write(pipe_ends[1], "x", 1), 1);
	CHECK_EQUAL(softverbs_rpoll(fds, 2, 5000), 1);
	CHECK_EQUAL(fds[0].revents, 0);
	CHECK_EQUAL(fds[1].revents, POLLIN);
	FD_ZERO(&readable);
	FD_SET(end, &readable);
	FD_SET(pipe_ends[0], &readable);
	CHECK_EQUAL(softverbs_rselect((end > pipe_ends[0] ? end : pipe_ends[0]) + 1, &readable, NULL, NULL, &soon), 1);
	CHECK(!FD_ISSET(end, &readable) && FD_ISSET(pipe_ends[0], &readable));
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void refusal_is_an_event(void)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(int);
	int listener = rs_listen(&address), fd = softverbs_rsocket(AF_INET, SOCK_STREAM, 0), error;

	CHECK(!softverbs_rclose(listener));
	rs_set_nonblocking(fd, true);
	CHECK_EQUAL(softverbs_rconnect(fd, (struct sockaddr *)&address, sizeof(address)), -1);
	CHECK_EQUAL(errno, EINPROGRESS);
	CHECK(rs_events(fd, POLLOUT, 10000) & POLLERR);
	CHECK(!softverbs_rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length));
	CHECK_EQUAL(error, ECONNREFUSED);
	CHECK(!softverbs_rclose(fd));
}

int main(void)
{
	char byte;
	int ends[2];

	alarm(TEST_SECONDS);
	rs_pair(ends);
	CHECK_EQUAL(rs_events(ends[1], POLLIN | POLLOUT, 0), POLLOUT);
	room_comes_back(ends[0], ends[1]);
	room_comes_back(ends[1], ends[0]);
	others_at_its_side(ends[0]);
	CHECK_EQUAL(softverbs_rsend(ends[0], "x", 1, 0), 1);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK_EQUAL(rs_events(ends[1], POLLIN, 5000), POLLIN);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 1);
	CHECK_EQUAL(rs_events(ends[1], POLLIN, 5000), POLLIN);
	CHECK_EQUAL(softverbs_rrecv(ends[1], &byte, 1, 0), 0);
	CHECK(!softverbs_rclose(ends[1]));
	refusal_is_an_event();
	return 0;
}

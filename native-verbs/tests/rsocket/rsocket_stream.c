/* SPDX-License-Identifier: Apache-2.0 */
/* Rsockets carry a stream to its end, whole and in order; what they cannot do is said by errno. */
#include <sys/resource.h>
#include <sys/uio.h>

#include "rsocket_fixture.h"

static void bytes_outlive_close(void)
{
	char text[16] = {0}, one;
	struct iovec parts[2] = {{text, 3}, {text + 3, 13}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	int ends[2];

	rs_pair(ends);
	CHECK_EQUAL(softverbs_rwrite(ends[0], "hello", 5), 5);
	CHECK_EQUAL(softverbs_rwrite(ends[0], " you", 4), 4);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK_EQUAL(softverbs_rrecv(ends[1], &one, 1, MSG_PEEK), 1);
	CHECK_EQUAL(one, 'h');
	CHECK_EQUAL(softverbs_rrecvmsg(ends[1], &message, MSG_PEEK), 3);
	CHECK(!strcmp(text, "hel"));
	CHECK_EQUAL(softverbs_rreadv(ends[1], parts, 2), 9);
	CHECK(!strcmp(text, "hello you"));
	CHECK_EQUAL(softverbs_rread(ends[1], text, sizeof(text)), 0);
	CHECK(!softverbs_rclose(ends[1]));
}

static void whole_messages_are_waited_for(void)
{
	char text[16] = {0};
	int ends[2];

	rs_pair(ends);
	CHECK_EQUAL(softverbs_rwrite(ends[0], "half", 4), 4);
	CHECK_EQUAL(rs_events(ends[1], POLLIN, 5000), POLLIN);
	CHECK_EQUAL(softverbs_rrecv(ends[1], text, 8, MSG_WAITALL | MSG_DONTWAIT), 4);
	CHECK_EQUAL(softverbs_rrecv(ends[1], text, 8, MSG_DONTWAIT), -1);
	CHECK_EQUAL(errno, EAGAIN);
	for (int i = 0; i < 8; i++)
		CHECK_EQUAL(softverbs_rwrite(ends[0], "12345678" + i, 1), 1);
	CHECK_EQUAL(softverbs_rrecv(ends[1], text, 8, MSG_WAITALL), 8);
	CHECK(!strcmp(text, "12345678"));
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

static void names_and_options(void)
{
	struct sockaddr_in near, far;
	socklen_t length = sizeof(near);
	int ends[2], value = 1;

	rs_pair(ends);
	CHECK(!softverbs_rgetsockname(ends[0], (struct sockaddr *)&near, &length));
	CHECK(!softverbs_rgetpeername(ends[1], (struct sockaddr *)&far, &length));
	CHECK_EQUAL(near.sin_port, far.sin_port);
	CHECK_EQUAL(near.sin_addr.s_addr, far.sin_addr.s_addr);
	CHECK(!softverbs_rsetsockopt(ends[0], IPPROTO_TCP, 1 /* TCP_NODELAY */, &value, sizeof(value)));
	length = sizeof(value);
	CHECK(!softverbs_rgetsockopt(ends[0], SOL_SOCKET, SO_ERROR, &value, &length));
	CHECK_EQUAL(value, 0);
	CHECK_EQUAL(softverbs_rsetsockopt(ends[0], SOL_SOCKET, SO_BINDTODEVICE, "lo", 3), -1);
	CHECK_EQUAL(errno, ENOPROTOOPT);
	CHECK(!softverbs_rclose(ends[0]));
	CHECK(!softverbs_rclose(ends[1]));
}

static void refusals(void)
{
	struct sockaddr_in address;
	int listener = rs_listen(&address), other;

	CHECK_EQUAL(softverbs_rsocket(AF_UNIX, SOCK_STREAM, 0), -1);
	CHECK_EQUAL(errno, EAFNOSUPPORT);
	CHECK_EQUAL(softverbs_rsocket(AF_INET, SOCK_DGRAM, 0), -1);
	CHECK_EQUAL(errno, ESOCKTNOSUPPORT);
	CHECK_EQUAL(softverbs_rsend(listener, "x", 1, 0), -1);
	CHECK_EQUAL(errno, ENOTCONN);
	CHECK_EQUAL(softverbs_rsend(0, "x", 1, 0), -1);
	CHECK_EQUAL(errno, EBADF);
	other = softverbs_rsocket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQUAL(softverbs_rbind(other, (struct sockaddr *)&address, sizeof(address)), -1);
	CHECK_EQUAL(errno, EADDRINUSE);
	CHECK(!softverbs_rclose(listener));
	CHECK_EQUAL(softverbs_rclose(listener), -1);
	CHECK_EQUAL(errno, EBADF);
	CHECK_EQUAL(softverbs_rconnect(other, (struct sockaddr *)&address, sizeof(address)), -1);
	CHECK_EQUAL(errno, ECONNREFUSED);
	CHECK(!softverbs_rclose(other));
}

static int request(int listener, const struct sockaddr_in *address)
{
	int fd = softverbs_rsocket(AF_INET, SOCK_STREAM, 0);

	rs_set_nonblocking(fd, true);
	CHECK_EQUAL(softverbs_rconnect(fd, (const struct sockaddr *)address, sizeof(*address)), -1);
	CHECK_EQUAL(errno, EINPROGRESS);
	while (!rs_events(listener, POLLIN, 0))
		rs_events(fd, POLLOUT, 1);
	return fd;
}

static void accepting_fails(void)
{
	struct sockaddr_in address;
	struct rlimit limit, none;
	int listener = rs_listen(&address), fd = request(listener, &address), accepted;

	CHECK_EQUAL(softverbs_raccept(listener, (struct sockaddr *)&address, NULL), -1);
	CHECK_EQUAL(errno, EFAULT);
	accepted = softverbs_raccept(listener, NULL, NULL);
	CHECK(accepted >= 0);
	CHECK(!softverbs_rclose(fd));
	CHECK(!softverbs_rclose(accepted));
	fd = request(listener, &address);
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	none = (struct rlimit){3, limit.rlim_max};
	CHECK(!setrlimit(RLIMIT_NOFILE, &none));
	rs_set_nonblocking(listener, true);
	CHECK_EQUAL(softverbs_raccept(listener, NULL, NULL), -1);
	CHECK_EQUAL(errno, EMFILE);
	CHECK_EQUAL(softverbs_raccept(listener, NULL, NULL), -1);
	CHECK_EQUAL(errno, EAGAIN);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(rs_events(fd, POLLOUT, 10000) & POLLERR);
	CHECK(!softverbs_rclose(fd));
	CHECK(!softverbs_rclose(listener));
}

int main(void)
{
	int before;

	alarm(TEST_SECONDS);
	bytes_outlive_close();
	before = rs_descriptors();
	bytes_outlive_close();
	whole_messages_are_waited_for();
	names_and_options();
	refusals();
	accepting_fails();
	for (uint64_t end = test_now_ms() + 5000; rs_descriptors() > before && test_now_ms() < end;)
		test_sleep_ms(20); /* links close behind */
	CHECK(rs_descriptors() <= before);
	return 0;
}

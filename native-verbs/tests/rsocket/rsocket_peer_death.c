/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is killed ends what waits for it with ECONNRESET, after the bytes that have arrived; one that is stopped holds
 * nobody in rclose() for long.
 */
#include "rsocket_fixture.h"

enum { SOON_MS = 1500, LINGER_MS = 20000 };

static void send_and_stay(int fd)
{
	struct sockaddr_in address;
	int end;

	test_receive(fd, &address, sizeof(address));
	end = rs_connect(&address);
	CHECK_EQUAL(softverbs_rsend(end, "last words", 10, 0), 10);
	test_signal(fd);
	test_await(fd);
}

static int connected_to(struct test_peer *peer)
{
	struct sockaddr_in address;
	int listener = rs_listen(&address), end;

	test_send(peer->fd, &address, sizeof(address));
	end = softverbs_raccept(listener, NULL, NULL);
	CHECK(end >= 0);
	test_await(peer->fd);
	CHECK(!softverbs_rclose(listener));
	return end;
}

static void killed(struct test_peer *peer)
{
	int end = connected_to(peer);
	char text[16];
	uint64_t start;

	CHECK_EQUAL(rs_events(end, POLLIN, 10000), POLLIN);
	test_kill_peer(peer);
	start = test_now_ms();
	CHECK_EQUAL(softverbs_rrecv(end, text, 10, 0), 10);
	CHECK(!memcmp(text, "last words", 10));
	CHECK_EQUAL(softverbs_rrecv(end, text, 10, 0), -1);
	CHECK_EQUAL(errno, ECONNRESET);
	CHECK(test_now_ms() - start < SOON_MS);
	CHECK_EQUAL(softverbs_rrecv(end, text, 10, 0), 0);
	CHECK_EQUAL(softverbs_rsend(end, text, 10, 0), -1);
	CHECK_EQUAL(errno, EPIPE);
	CHECK(!softverbs_rclose(end));
}

static void stopped(struct test_peer *peer)
{
	int end = connected_to(peer);
	uint64_t start;

	CHECK(!kill(peer->pid, SIGSTOP));
	start = test_now_ms();
	CHECK_EQUAL(softverbs_rsend(end, "unheard", 7, 0), 7);
	CHECK(!softverbs_rclose(end));
	CHECK(test_now_ms() - start < LINGER_MS);
	test_kill_peer(peer);
}

int main(void)
{
	struct test_peer first = test_start_peer(send_and_stay), second = test_start_peer(send_and_stay);

	killed(&first);
	stopped(&second);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the UDP port of a process that has died, and passes what it hears on to another one
 * that knows the secret, to whose queue pair it addresses it. That process takes nothing of it.
 */
#include "adversary.h"
#include "ud_fixture.h"
#include "datagram/ud_wire.h"

enum { SENDS = 20, LENGTH = 64 };

static _Atomic int *passed;

static uint32_t dead_qpn, server_qpn;

static void receive_until_told(int fd)
{
	struct ud_side ud;

	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_ud_side(&ud, SENDS);
	for (int i = 0; i < SENDS; i++)
		ud_receive(&ud, 1, 512);
	test_send(fd, &ud.side.qp->qp_num, sizeof(ud.side.qp->qp_num));
	test_await(fd);
	expect_quiet(ud.side.cq);
	close_ud_side(&ud);
}

static void relay(int control)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(dead_qpn >> 8)};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0);
	struct {
		struct ud_header header;
		uint8_t payload[LENGTH];
	} datagram;

	become_adversary();
	CHECK(!bind(fd, (struct sockaddr *)&any, sizeof(any)));
	test_signal(control);
	for (;;) {
		CHECK_EQUAL(recv(fd, &datagram, sizeof(datagram), 0), (ssize_t)sizeof(datagram));
		datagram.header.destination_qpn = server_qpn;
		send_udp(fd, server_qpn >> 8, &datagram, sizeof(datagram));
		++*passed;
	}
}

int main(void)
{
	struct test_peer dying = test_start_peer(receive_until_told), server = test_start_peer(receive_until_told), adversary;
	struct ud_side ud;

	passed = adversary_report(sizeof(*passed));
	test_receive(dying.fd, &dead_qpn, sizeof(dead_qpn));
	test_receive(server.fd, &server_qpn, sizeof(server_qpn));
	adversary = start_adversary(&dying, relay);
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_ud_side(&ud, SENDS);
	for (int i = 0; i < SENDS; i++)
		ud_send(&ud, dead_qpn, LENGTH);
	for (uint64_t end = test_now_ms() + WAIT_MS; *passed < SENDS; usleep(1000))
		CHECK(test_now_ms() < end);
	test_finish_peer(&server);
	test_kill_peer(&adversary);
	close_ud_side(&ud);
}

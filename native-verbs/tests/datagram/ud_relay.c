/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the name of a process that has died, and passes what it hears on to another one that
 * knows the secret. It gets no datagram to see, nor does that other process take one.
 */
#include "adversary.h"
#include "ud_fixture.h"
#include "datagram/ud_wire.h"

enum { SENDS = 20, LENGTH = 64 };

static struct report {
	_Atomic int connections, datagrams;
} *report;

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

/* Turns a datagram for the dead queue pair into one for the server's. */
static bool pass(int from, int to, bool to_server)
{
	uint8_t message[8192];
	struct ud_header header;
	ssize_t length = recv(from, message, sizeof(message), 0);

	(void)to_server;
	if (length <= 0)
		return false;
	if (length == sizeof(header) + LENGTH) {
		report->datagrams++;
		memcpy(&header, message, sizeof(header));
		header.destination_qpn = server_qpn;
		memcpy(message, &header, sizeof(header));
	}
	return send(to, message, length, MSG_NOSIGNAL) == length;
}

static void relay(int control)
{
	int listener;

	become_adversary();
	listener = adversary_listen(dead_qpn >> 8, LINK_DATAGRAM_SUFFIX, SOCK_SEQPACKET);
	test_signal(control);
	for (;;) {
		int client = accept(listener, NULL, NULL);

		report->connections++;
		adversary_relay(client, raw_datagram_connect(server_qpn >> 8), pass);
	}
}

int main(void)
{
	struct test_peer dying = test_start_peer(receive_until_told), server = test_start_peer(receive_until_told), adversary;
	struct ud_side ud;

	report = adversary_report(sizeof(*report));
	test_receive(dying.fd, &dead_qpn, sizeof(dead_qpn));
	test_receive(server.fd, &server_qpn, sizeof(server_qpn));
	adversary = start_adversary(&dying, relay);
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_ud_side(&ud, SENDS);
	for (int i = 0; i < SENDS; i++)
		ud_send(&ud, dead_qpn, LENGTH);
	for (uint64_t end = test_now_ms() + WAIT_MS; !report->connections && test_now_ms() < end;)
		usleep(1000);
	CHECK(report->connections > 0);
	test_signal(server.fd);
	test_join_peer(&server);
	CHECK_EQUAL(report->datagrams, 0);
	test_kill_peer(&adversary);
	close_ud_side(&ud);
}

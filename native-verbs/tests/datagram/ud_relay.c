/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the name of a process that has died, and passes what it hears on to another one that
 * knows the secret. It gets no datagram to see, nor does that other process take one.
 */
#include "adversary.h"
#include "link/link_listen.h"
#include "ud_fixture.h"
#include "datagram/ud_wire.h"

enum { SENDS = 20, LENGTH = 64 };

static struct report {
	_Atomic int connections, datagrams;
} *report;

struct plan {
	uint32_t dead_qpn, server_qpn;
};

static void receive_until_told(int fd)
{
	struct ud_side ud;

	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	open_ud_side(&ud, SENDS);
	for (int i = 0; i < SENDS; i++)
		CHECK_EQUAL(post_receive(ud.side.qp, 1, sge_of(&ud.memory, 0, 512)), 0);
	test_send(fd, &ud.side.qp->qp_num, sizeof(ud.side.qp->qp_num));
	test_await(fd);
	expect_quiet(ud.side.cq);
	close_ud_side(&ud);
}

static int connect_to_receiver(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_link_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy((char *)&name + length, LINK_DATAGRAM_SUFFIX, strlen(LINK_DATAGRAM_SUFFIX));
	CHECK(!connect(fd, (struct sockaddr *)&name, length + strlen(LINK_DATAGRAM_SUFFIX)));
	return fd;
}

/* Of a datagram of the dead queue pair one of the other's. */
static bool pass(int from, int to, uint32_t server_qpn)
{
	uint8_t message[8192];
	struct ud_header header;
	ssize_t length = recv(from, message, sizeof(message), 0);

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
	struct plan plan;
	int listener;

	become_adversary();
	test_receive(control, &plan, sizeof(plan));
	listener = adversary_listen(plan.dead_qpn >> 8, LINK_DATAGRAM_SUFFIX, SOCK_SEQPACKET);
	test_signal(control);
	for (;;) {
		int client = accept(listener, NULL, NULL), server = connect_to_receiver(plan.server_qpn >> 8);
		struct pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
		bool goes_on = true;

		report->connections++;
		while (goes_on && poll(ends, 2, -1) > 0)
			for (int i = 0; i < 2 && goes_on; i++)
				goes_on = !ends[i].revents || pass(ends[i].fd, ends[1 - i].fd, plan.server_qpn);
		close(client);
		close(server);
	}
}

int main(void)
{
	struct test_peer dying = test_start_peer(receive_until_told), server = test_start_peer(receive_until_told), adversary;
	struct ud_side ud;
	struct ibv_ah *ah;
	struct plan plan;
	union ibv_gid gid;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(report != MAP_FAILED);
	adversary = test_start_peer(relay);
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	test_receive(dying.fd, &plan.dead_qpn, sizeof(plan.dead_qpn));
	test_receive(server.fd, &plan.server_qpn, sizeof(plan.server_qpn));
	test_kill_peer(&dying);
	test_send(adversary.fd, &plan, sizeof(plan));
	test_await(adversary.fd);
	open_ud_side(&ud, SENDS);
	gid = gid_at(&ud, 1);
	ah = ah_to(&ud, &gid, 1);
	for (int i = 0; i < SENDS; i++)
		ud_send(&ud, ah, plan.dead_qpn, LENGTH);
	for (uint64_t end = test_now_ms() + WAIT_MS; !report->connections && test_now_ms() < end;)
		usleep(1000);
	CHECK(report->connections > 0);
	test_signal(server.fd);
	test_join_peer(&server);
	CHECK_EQUAL(report->datagrams, 0);
	test_kill_peer(&adversary);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	close_ud_side(&ud);
}

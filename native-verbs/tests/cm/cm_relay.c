/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An adversary without the secret holds the port of a listener that has died. It answers requests itself, and it passes them on to
 * another listener whose answers it brings back: the client believes neither, and that listener does not answer at all.
 */
#include "adversary.h"
#include "cm_fixture.h"
#include "cm/cm_wire.h"

static struct report {
	_Atomic int requests, answers, connections;
} *report;

static uint16_t dead_port, server_port; /* in network order */

static void listen_until_told(int fd)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;

	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	channel = cm_channel_open();
	listener = cm_listen_for(fd, channel, 8);
	test_await(fd);
	CHECK(!test_readable(channel->fd, 0));
	cm_close_all(channel, listener);
}

static int udp_socket(uint16_t bound, uint16_t connected)
{
	struct sockaddr_storage own = cm_address("127.0.0.1", bound), other = cm_address("127.0.0.1", connected);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK(!bind(fd, (struct sockaddr *)&own, sizeof(struct sockaddr_in)));
	if (connected)
		CHECK(!connect(fd, (struct sockaddr *)&other, sizeof(struct sockaddr_in)));
	return fd;
}

static void impersonate(int fd)
{
	struct sockaddr_in client = {.sin_family = AF_INET};
	socklen_t length;
	uint16_t process_port;
	int links, front, back;

	become_adversary();
	links = raw_responder_listen(&process_port);
	front = udp_socket(dead_port, 0);
	back = udp_socket(0, server_port);
	test_signal(fd);
	for (;;) {
		struct pollfd ready[] = {{front, POLLIN, 0}, {back, POLLIN, 0}, {links, POLLIN, 0}};
		struct cm_datagram datagram;

		CHECK(poll(ready, 3, -1) > 0);
		if (ready[0].revents) {
			length = sizeof(client);
			CHECK_EQUAL(recvfrom(front, &datagram, sizeof(datagram), 0, (struct sockaddr *)&client, &length),
				    sizeof(datagram));
			report->requests++;
			send(back, &datagram, sizeof(datagram), 0);
			datagram.kind = CM_DATAGRAM_REPLY;
			datagram.process_port = htons(process_port);
			sendto(front, &datagram, sizeof(datagram), 0, (struct sockaddr *)&client, length);
		}
		if (ready[1].revents && recv(back, &datagram, sizeof(datagram), 0) == sizeof(datagram)) {
			report->answers++;
			sendto(front, &datagram, sizeof(datagram), 0, (struct sockaddr *)&client, sizeof(client));
		}
		if (ready[2].revents) {
			report->connections++;
			close(accept(links, NULL, NULL));
		}
	}
}

int main(void)
{
	struct test_peer dying = test_start_peer(listen_until_told), server = test_start_peer(listen_until_told), adversary;
	struct rdma_event_channel *channel;
	int status;

	report = adversary_report(sizeof(*report));
	dead_port = cm_receive_port(dying.fd);
	server_port = cm_receive_port(server.fd);
	adversary = start_adversary(&dying, impersonate);
	setenv("SOFTVERBS_SECRET", HONEST_SECRET, 1);
	channel = cm_channel_open();
	status = cm_refusal_of(channel, CM_LOOPBACK, dead_port, RDMA_CM_EVENT_UNREACHABLE);
	CHECK(report->requests > 0);
	CHECK_EQUAL(report->connections, 0);
	CHECK_EQUAL(report->answers, 0);
	CHECK_EQUAL(status, -ETIMEDOUT);
	test_kill_peer(&adversary);
	test_finish_peer(&server);
	softverbs_rdma_destroy_event_channel(channel);
}

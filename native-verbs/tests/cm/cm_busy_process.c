/* SPDX-License-Identifier: Apache-2.0 */
/* A process whose socket has no room for another connection right now is asked again, not given up. */
#include <fcntl.h>

#include "cm/cm_wire.h"
#include "cm_fixture.h"
#include "raw_responder.h"

enum { BUSY_MS = 500 };

static void fill(uint16_t port)
{
	for (;;) {
		struct sockaddr_un name;
		socklen_t length = raw_name(port, &name);
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		CHECK(fd >= 0);
		if (connect(fd, (struct sockaddr *)&name, length)) {
			CHECK_EQUAL(errno, EAGAIN);
			close(fd);
			return;
		}
	}
}

/* The first of the connections that says something. */
static int accept_client(int listener)
{
	for (;;) {
		int fd;

		CHECK(test_readable(listener, EVENT_WAIT_MS));
		fd = accept(listener, NULL, NULL);
		CHECK(fd >= 0);
		if (test_readable(fd, BUSY_MS))
			return fd;
		close(fd);
	}
}

static void serve(int control)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}, client;
	socklen_t length = sizeof(address);
	int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), listener;
	struct cm_datagram datagram;
	struct frame frame;
	uint16_t port;

	CHECK(!bind(udp, (struct sockaddr *)&address, sizeof(address)));
	CHECK(!getsockname(udp, (struct sockaddr *)&address, &length));
	listener = raw_responder_listen(&port);
	CHECK(!listen(listener, 0));
	fill(port);
	test_send(control, &address.sin_port, sizeof(address.sin_port));
	length = sizeof(client);
	CHECK_EQUAL(recvfrom(udp, &datagram, sizeof(datagram), 0, (struct sockaddr *)&client, &length), sizeof(datagram));
	datagram.kind = CM_DATAGRAM_REPLY;
	datagram.process_port = htons(port);
	CHECK_EQUAL(sendto(udp, &datagram, sizeof(datagram), 0, (struct sockaddr *)&client, length), sizeof(datagram));
	test_sleep_ms(BUSY_MS);
	CHECK(raw_read_frame(accept_client(listener), &frame, NULL, 0));
	CHECK_EQUAL(frame.op, FRAME_HELLO);
	test_signal(control);
}

int main(void)
{
	struct test_peer peer = test_start_peer(serve);
	uint16_t port = cm_receive_port(peer.fd);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_ask(channel, CM_LOOPBACK, port);

	CHECK(!test_readable(channel->fd, BUSY_MS));
	test_await(peer.fd);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_REJECTED), CM_REJECT_NO_LISTENER); /* for it ends there */
	test_join_peer(&peer);
	cm_close_all(channel, id);
}

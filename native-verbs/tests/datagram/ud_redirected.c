/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram that was meant for another host, and brought here, reaches no queue pair, though one has that number. */
#include "datagram/ud_wire.h"
#include "ud_fixture.h"

/* The descriptor of the device's own UDP socket of that port, from which datagrams are taken. */
static int own_socket(uint16_t port)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct sockaddr_in6 name;
		socklen_t length = sizeof(name), type_length = sizeof(int);
		int type;

		if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) && type == SOCK_DGRAM &&
		    !getsockname(fd, (struct sockaddr *)&name, &length) && name.sin6_port == htons(port))
			return fd;
	}
	return -1;
}

int main(void)
{
	static const union ibv_gid elsewhere = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 203, [13] = 0, [14] = 113, [15] = 9}};
	struct ud_header header = {.magic = UD_MAGIC, .version = UD_WIRE_VERSION, .qkey = QKEY};
	struct ud_side ud;
	uint16_t port;

	alarm(TEST_SECONDS);
	open_ud_side(&ud, 4);
	port = ud.side.qp->qp_num >> 8;
	ud_receive(&ud, 5, 512);
	header.source_qpn = header.destination_qpn = ud.side.qp->qp_num;
	header.source = gid_at(&ud, 1);
	header.destination = elsewhere;
	send_udp(own_socket(port), port, &header, sizeof(header));
	expect_quiet(ud.side.cq);
	header.destination = header.source;
	send_udp(own_socket(port), port, &header, sizeof(header));
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	close_ud_side(&ud);
}

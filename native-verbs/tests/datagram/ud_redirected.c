/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram that was meant for another host, and brought here, reaches no queue pair, though one has that number. */
#include "datagram/ud_wire.h"
#include "raw_link.h"
#include "ud_fixture.h"

static int connect_as_sender(uint16_t port)
{
	struct sockaddr_un name;
	socklen_t length = raw_link_name(port, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy((char *)&name + length, ".ud", 3);
	CHECK(!connect(fd, (struct sockaddr *)&name, length + 3));
	return fd;
}

int main(void)
{
	static const union ibv_gid elsewhere = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 203, [13] = 0, [14] = 113, [15] = 9}};
	struct ud_header header = {.magic = UD_MAGIC, .version = UD_WIRE_VERSION, .qkey = QKEY};
	struct ud_side ud;
	int fd;

	alarm(TEST_SECONDS);
	open_ud_side(&ud, 4);
	CHECK_EQUAL(post_receive(ud.side.qp, 5, sge_of(&ud.memory, 0, 512)), 0);
	header.source_qpn = header.destination_qpn = ud.side.qp->qp_num;
	header.source = gid_at(&ud, 1);
	header.destination = elsewhere;
	fd = connect_as_sender(ud.side.qp->qp_num >> 8);
	CHECK_EQUAL(send(fd, &header, sizeof(header), 0), sizeof(header));
	expect_quiet(ud.side.cq);
	header.destination = header.source;
	CHECK_EQUAL(send(fd, &header, sizeof(header), 0), sizeof(header));
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	close(fd);
	close_ud_side(&ud);
}

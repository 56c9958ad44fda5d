/* SPDX-License-Identifier: Apache-2.0 */
/* A datagram that was meant for another host, and brought here, reaches no queue pair, though one has that number. */
#include "datagram/ud_wire.h"
#include "raw_link.h"
#include "ud_fixture.h"

int main(void)
{
	static const union ibv_gid elsewhere = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 203, [13] = 0, [14] = 113, [15] = 9}};
	struct ud_header header = {.magic = UD_MAGIC, .version = UD_WIRE_VERSION, .qkey = QKEY};
	struct ud_side ud;
	int fd;

	alarm(TEST_SECONDS);
	open_ud_side(&ud, 4);
	ud_receive(&ud, 5, 512);
	header.source_qpn = header.destination_qpn = ud.side.qp->qp_num;
	header.source = gid_at(&ud, 1);
	header.destination = elsewhere;
	fd = raw_datagram_connect(ud.side.qp->qp_num >> 8);
	CHECK_EQUAL(send(fd, &header, sizeof(header), 0), sizeof(header));
	expect_quiet(ud.side.cq);
	header.destination = header.source;
	CHECK_EQUAL(send(fd, &header, sizeof(header), 0), sizeof(header));
	expect_completion(ud.side.cq, 5, IBV_WC_SUCCESS);
	close(fd);
	close_ud_side(&ud);
}

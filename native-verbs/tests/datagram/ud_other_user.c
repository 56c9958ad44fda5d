/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a secret the datagrams of another user's process are not heard, neither through the device nor written to its
 * sockets by hand; with one they are. What is no datagram does no harm.
 */
#include "datagram/ud_wire.h"
#include "raw_link.h"
#include "ud_fixture.h"
#include "users.h"

#include <arpa/inet.h>

enum { BUFFER = 512, SENDS = 20, GARBAGE = 2000 };

static struct ud_header forged_header(uint32_t qpn, const union ibv_gid *gid)
{
	return (struct ud_header){.magic = UD_MAGIC,
				  .version = UD_WIRE_VERSION,
				  .destination_qpn = qpn,
				  .source_qpn = qpn,
				  .qkey = QKEY,
				  .source = *gid,
				  .destination = *gid};
}

/* Whole datagrams and noise, to the unix socket and to the UDP port of that queue pair. */
static void write_by_hand(uint32_t qpn, const union ibv_gid *gid)
{
	struct ud_header header = forged_header(qpn, gid);
	struct sockaddr_in udp = {.sin_family = AF_INET, .sin_port = htons(qpn >> 8), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	uint8_t noise[sizeof(header) + 64];
	unsigned int seed = 1;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), stream;

	for (int i = 0; i < GARBAGE; i++) {
		size_t length = rand_r(&seed) % sizeof(noise);

		for (size_t k = 0; k < length; k++)
			noise[k] = rand_r(&seed);
		if (i % 2 && length > 8)
			memcpy(noise, &header, 8 + rand_r(&seed) % (length - 8 < sizeof(header) - 8 ? length - 8 : sizeof(header) - 8));
		if (i % 7 == 0)
			sendto(fd, &header, sizeof(header), 0, (struct sockaddr *)&udp, sizeof(udp));
		sendto(fd, noise, length, 0, (struct sockaddr *)&udp, sizeof(udp));
	}
	close(fd);
	stream = raw_datagram_connect(qpn >> 8);
	for (int i = 0; i < SENDS; i++)
		if (send(stream, i % 2 ? (void *)&header : (void *)noise, sizeof(header), MSG_NOSIGNAL) < 0)
			break;
	close(stream);
}

static void intrude(int fd)
{
	struct ud_side ud;
	union ibv_gid gid;
	uint32_t qpn;

	become_user(NOBODY);
	test_receive(fd, &qpn, sizeof(qpn));
	open_ud_side(&ud, SENDS);
	gid = gid_at(&ud, 1);
	write_by_hand(qpn, &gid);
	for (int i = 0; i < SENDS; i++)
		ud_send(&ud, qpn, 8);
	test_signal(fd);
	test_await(fd);
	close_ud_side(&ud);
}

static void run(void)
{
	struct test_peer child = test_start_peer(intrude);
	bool trusted = getenv("SOFTVERBS_SECRET");
	struct ud_side ud;
	uint32_t qpn;

	open_ud_side(&ud, SENDS);
	qpn = ud.side.qp->qp_num;
	for (int i = 0; i < SENDS; i++)
		ud_receive(&ud, 1, BUFFER);
	test_send(child.fd, &qpn, sizeof(qpn));
	test_await(child.fd);
	if (trusted)
		CHECK(ud_expect(&ud, 8).src_qp != qpn);
	else
		expect_quiet(ud.side.cq);
	test_signal(child.fd);
	test_join_peer(&child);
	close_ud_side(&ud);
	check_no_leaks();
}

int main(void)
{
	need_root();
	on_each_transport(run);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without a secret the datagrams of another user's process are not heard, neither through the device nor written to its
 * socket by hand, and none are sent to it; with one they are. What is no datagram does no harm.
 */
#include "datagram/ud_wire.h"
#include "ud_fixture.h"
#include "users.h"

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

/* Whole datagrams and noise, to the UDP port of that queue pair. */
static void write_by_hand(uint32_t qpn, const union ibv_gid *gid)
{
	struct ud_header header = forged_header(qpn, gid);
	uint8_t noise[sizeof(header) + 64];
	unsigned int seed = 1;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	for (int i = 0; i < GARBAGE; i++) {
		size_t length = rand_r(&seed) % sizeof(noise);

		for (size_t k = 0; k < length; k++)
			noise[k] = rand_r(&seed);
		if (i % 2 && length > 8)
			memcpy(noise, &header, 8 + rand_r(&seed) % (length - 8 < sizeof(header) - 8 ? length - 8 : sizeof(header) - 8));
		if (i % 7 == 0)
			send_udp(fd, qpn >> 8, &header, sizeof(header));
		send_udp(fd, qpn >> 8, noise, length);
	}
	close(fd);
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
	ud_receive(&ud, 2, BUFFER);
	test_send(fd, &ud.side.qp->qp_num, sizeof(ud.side.qp->qp_num));
	test_await(fd);
	if (getenv("SOFTVERBS_SECRET"))
		ud_expect(&ud, 24);
	else
		expect_quiet(ud.side.cq);
	test_rendezvous(fd);
	close_ud_side(&ud);
}

static void run(void)
{
	struct test_peer child = test_start_peer(intrude);
	bool trusted = getenv("SOFTVERBS_SECRET");
	struct ud_side ud;
	uint32_t qpn, intruder;

	open_ud_side(&ud, SENDS);
	qpn = ud.side.qp->qp_num;
	for (int i = 0; i < SENDS; i++)
		ud_receive(&ud, 1, BUFFER);
	test_send(child.fd, &qpn, sizeof(qpn));
	test_receive(child.fd, &intruder, sizeof(intruder));
	if (trusted)
		CHECK_EQUAL(ud_expect(&ud, 8).src_qp, intruder);
	else
		expect_quiet(ud.side.cq);
	ud_post(&ud, intruder, 3, 24);
	test_rendezvous(child.fd);
	test_finish_peer(&child);
	close_ud_side(&ud);
	check_no_leaks();
}

int main(void)
{
	need_root();
	with_and_without_secret(run);
}

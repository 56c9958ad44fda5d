/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams between two hosts, over IPv4 and IPv6, of a size that IP must fragment; the counters of the
 * interface prove that they crossed the link. A sender that does not know the secret is not heard.
 */
#define _GNU_SOURCE
#include "hosts_fixture.h"
#include "ud_fixture.h"

#include <fcntl.h>

enum { LENGTH = 4096, BUFFER = 8192, FAMILIES = 2 };

/* The first RoCE v2 entry of that family. */
static uint8_t index_of_family(struct ud_side *ud, bool v4)
{
	for (int i = 1;; i += 2) {
		union ibv_gid gid = gid_at(ud, i);

		if ((gid.raw[10] == 0xff && gid.raw[12] == 10) == v4 && (v4 || gid.raw[0] == 0xfd))
			return i;
	}
}

struct hello {
	uint32_t qpn;
	union ibv_gid gid[FAMILIES]; /* IPv4, IPv6 */
};

static struct hello hello_of(struct ud_side *ud)
{
	return (struct hello){ud->side.qp->qp_num,
			      {gid_at(ud, index_of_family(ud, true)), gid_at(ud, index_of_family(ud, false))}};
}

static void expect_from(struct ud_side *ud, const struct hello *peer, uint32_t seed)
{
	uint8_t expected[LENGTH];

	CHECK_EQUAL(ud_expect(ud, LENGTH).src_qp, peer->qpn);
	fill_pattern(expected, LENGTH, seed);
	CHECK(!memcmp(ud->memory.bytes + GRH_BYTES, expected, LENGTH));
}

static void receive_all(int fd)
{
	struct ud_side ud;
	struct hello own, peer;

	open_ud_side(&ud, 16);
	own = hello_of(&ud);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &peer, sizeof(peer));
	for (int i = 0; i < FAMILIES; i++) {
		ud_receive(&ud, 1, BUFFER);
		test_signal(fd);
		expect_from(&ud, &peer, i + 1);
	}
	/* From here on a sender without the secret: nothing. */
	ud_receive(&ud, 1, BUFFER);
	test_rendezvous(fd);
	expect_quiet(ud.side.cq);
	close_ud_side(&ud);
	check_no_leaks();
}

static void send_over_the_link(struct ud_side *ud, const union ibv_gid *gid, uint32_t qpn, uint8_t index, uint32_t seed)
{
	uint64_t before = hosts_link_bytes(), deadline = test_now_ms() + WAIT_MS;
	struct ibv_ah *ah = ah_to(ud, gid, index);

	fill_pattern(ud->memory.bytes, LENGTH, seed);
	ud_send_by(ud, ah, qpn, LENGTH);
	while (hosts_link_bytes() < before + LENGTH) /* the neighbour may have to be found first */
		CHECK(test_now_ms() < deadline);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
}

/* The functions below run in processes of their own, because the secret of a process does not change. */
static struct hello theirs;
static struct test_peer host_1;

static void send_with_secret(void)
{
	struct ud_side ud;
	struct hello own;

	open_ud_side(&ud, 16);
	own = hello_of(&ud);
	test_send(host_1.fd, &own, sizeof(own));
	for (int i = 0; i < FAMILIES; i++) {
		test_await(host_1.fd);
		send_over_the_link(&ud, &theirs.gid[i], theirs.qpn, index_of_family(&ud, i == 0), i + 1);
	}
	close_ud_side(&ud);
	check_no_leaks();
}

static void send_unheard(void)
{
	struct ud_side ud;
	struct ibv_ah *ah;

	open_ud_side(&ud, 4);
	ah = ah_to(&ud, &theirs.gid[0], index_of_family(&ud, true));
	ud_send_by(&ud, ah, theirs.qpn, 100);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	close_ud_side(&ud);
}

int main(void)
{
	host_1 = hosts_start(receive_all);
	test_receive(host_1.fd, &theirs, sizeof(theirs));
	test_run_apart(send_with_secret);
	test_await(host_1.fd);
	setenv("SOFTVERBS_SECRET", "not that of these hosts", 1);
	test_run_apart(send_unheard);
	unsetenv("SOFTVERBS_SECRET");
	test_run_apart(send_unheard);
	test_finish_peer(&host_1);
}

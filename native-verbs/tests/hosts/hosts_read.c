/* SPDX-License-Identifier: Apache-2.0 */
/* READ, WRITE and SEND between two hosts, over IPv4, IPv6 and link-local IPv6: the bytes are right and crossed the link. */
#define _GNU_SOURCE

#include "hosts_fixture.h"
#include "offer.h"

#include <arpa/inet.h>

enum { LENGTH = 5 << 20 };

static int gid_index_of(struct ibv_context *context, const char *text, union ibv_gid *gid)
{
	union ibv_gid wanted = {.raw = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, wanted.raw + 12) != 1)
		CHECK_EQUAL(inet_pton(AF_INET6, text, wanted.raw), 1);
	for (int i = 0; i < 16; i++)
		if (!softverbs_ibv_query_gid(context, 1, i, gid) && !memcmp(gid, &wanted, sizeof(wanted)))
			return i;
	fprintf(stderr, "%s is not in the GID table\n", text);
	CHECK(false);
}

static void serve_at(int fd, const char *text)
{
	struct side side;
	struct region *region;
	struct offer offer;
	struct address remote;
	int index;

	open_side(&side, 16, 16);
	region = add_region(&side, LENGTH, ALL_REMOTE);
	fill_pattern(region->bytes, LENGTH, 1);
	offer = offer_of(&side, region);
	index = gid_index_of(side.context, text, &offer.address.gid);
	test_receive(fd, &remote, sizeof(remote));
	connect_side(&side, &remote, &(struct connection){.sgid_index = index});
	test_send(fd, &offer, sizeof(offer));
	test_await(fd);
	/* What the client wrote is here, then what it sends, which goes back. */
	CHECK(region->bytes[0] == 0xab && region->bytes[LENGTH - 1] == 0xcd);
	CHECK_EQUAL(post_receive(side.qp, 1, sge_of(region, 0, LENGTH)), 0);
	test_signal(fd);
	expect_completion(side.cq, 1, IBV_WC_SUCCESS);
	CHECK(region->bytes[0] == 0xef && region->bytes[LENGTH - 1] == 0x12);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 2, sge_of(region, 0, LENGTH), 0, 0), 0);
	expect_completion(side.cq, 2, IBV_WC_SUCCESS);
	test_await(fd);
	close_side(&side);
}

static void serve(int fd)
{
	serve_at(fd, HOST_1_V4);
	serve_at(fd, HOST_1_V6);
	serve_at(fd, HOST_1_LINK_LOCAL);
	check_no_leaks();
}

static void ask_from(int fd, const char *text)
{
	uint8_t *expected = malloc(LENGTH);
	struct side side;
	struct softverbs_counters counters;
	struct region *region;
	struct offer offer;
	struct address own;
	uint64_t before;
	int index;

	open_side(&side, 16, 16);
	region = add_region(&side, LENGTH, ALL_REMOTE);
	own.qpn = side.qp->qp_num;
	index = gid_index_of(side.context, text, &own.gid);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &offer, sizeof(offer));
	connect_side(&side, &offer.address, &(struct connection){.sgid_index = index});
	fill_pattern(expected, LENGTH, 1);
	before = hosts_link_bytes();
	read_and_expect(&side, 1, region, LENGTH, offer.addr, offer.rkey, IBV_WC_SUCCESS);
	CHECK(!memcmp(region->bytes, expected, LENGTH));
	CHECK(hosts_link_bytes() - before >= LENGTH);

	region->bytes[0] = 0xab;
	region->bytes[LENGTH - 1] = 0xcd;
	before = hosts_link_bytes();
	CHECK_EQUAL(post(side.qp, IBV_WR_RDMA_WRITE, 2, sge_of(region, 0, LENGTH), offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 2, IBV_WC_SUCCESS);
	CHECK(hosts_link_bytes() - before >= LENGTH);
	test_rendezvous(fd);
	region->bytes[0] = 0xef;
	region->bytes[LENGTH - 1] = 0x12;
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 3, sge_of(region, 0, LENGTH), 0, 0), 0);
	CHECK_EQUAL(post_receive(side.qp, 4, sge_of(region, 0, LENGTH)), 0);
	expect_completion(side.cq, 3, IBV_WC_SUCCESS);
	expect_completion(side.cq, 4, IBV_WC_SUCCESS);
	test_signal(fd);
	counters = counters_now();
	CHECK_EQUAL(counters.connections_tcp, counters.connections);
	CHECK_EQUAL(counters.reads_tcp, counters.reads_wire);
	CHECK_EQUAL(counters.fallbacks, 0);
	close_side(&side);
	free(expected);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);
	struct softverbs_counters counters;

	ask_from(peer.fd, HOST_0_V4);
	ask_from(peer.fd, HOST_0_V6);
	ask_from(peer.fd, HOST_0_LINK_LOCAL);
	counters = counters_now();
	CHECK_EQUAL(counters.reads_tcp, 3);
	CHECK_EQUAL(counters.read_bytes_tcp, 3 * LENGTH);
	CHECK_EQUAL(counters.connections_tcp, 3);
	CHECK_EQUAL(counters.connections, 3);
	CHECK_EQUAL(counters.reads_cma + counters.reads_file, 0);
	check_no_leaks();
	test_join_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that dies and one that takes its port, down to the queue pair number: the connection of the first does not go on
 * with the second, which is not read. A new connection to it works.
 */
#define _GNU_SOURCE

#include "descriptors.h"
#include "hosts_fixture.h"
#include "offer.h"

enum { LENGTH = 4096, PORT_QPS = 256, PORT = 23456 };

/* A process of host 1: its queue pair has the number `qpn`, or any (0). */
static void serve_as(int fd, uint32_t qpn)
{
	struct ibv_qp *others[PORT_QPS];
	struct region *region;
	struct side side;
	char range[32];
	int count = 0;

	snprintf(range, sizeof(range), "%d-%d", PORT, PORT);
	setenv("SOFTVERBS_PORT_RANGE", range, 1);
	open_side(&side, 16, 16);
	while (qpn && side.qp->qp_num != qpn) {
		CHECK(count < PORT_QPS);
		others[count++] = side.qp;
		side.qp = create_qp(&side, 16);
	}
	region = add_region(&side, LENGTH, ALL_REMOTE);
	region->bytes[0] = qpn ? 2 : 1;
	offer_region(fd, &side, region, NULL);
	test_await(fd);
	while (count)
		CHECK_EQUAL(softverbs_ibv_destroy_qp(others[--count]), 0);
	close_side(&side);
}

/* One after the other. */
static void serve(int fd)
{
	uint32_t qpn;
	pid_t first = test_fork();

	if (!first) {
		serve_as(fd, 0);
		exit(0);
	}
	test_join(first);
	test_receive(fd, &qpn, sizeof(qpn));
	serve_as(fd, qpn);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);
	struct address own;
	struct region *sink;
	struct side side;
	struct offer first, second;
	int descriptors;

	open_side(&side, 16, 16);
	sink = add_region(&side, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	first = accept_offer(peer.fd, &side, NULL);
	CHECK_EQUAL(first.address.qpn >> 8, PORT);
	read_and_expect(&side, 1, sink, LENGTH, first.addr, first.rkey, IBV_WC_SUCCESS);
	CHECK_EQUAL(sink->bytes[0], 1);
	descriptors = open_descriptors();

	test_signal(peer.fd); /* the first goes, which ends our connection to it */
	expect_descriptors(descriptors - 1);
	test_send(peer.fd, &first.address.qpn, sizeof(first.address.qpn));
	test_send(peer.fd, &own, sizeof(own));
	test_receive(peer.fd, &second, sizeof(second));
	CHECK_EQUAL(second.address.qpn, first.address.qpn);
	read_and_expect(&side, 2, sink, LENGTH, second.addr, second.rkey, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(sink->bytes[0], 1);
	test_finish_peer(&peer);
	close_side(&side);
	check_no_leaks();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link between two hosts is cut while one reads and the other sends: both see RETRY_EXC_ERR within the retry time,
 * what stood behind is flushed, and once the link is back new queue pairs connect.
 */
#define _GNU_SOURCE

#include "hosts_fixture.h"
#include "offer.h"

#define RECEIVE (1ull << 32)

enum { MESSAGE = 1 << 20, DEPTH = 8, BEFORE_CUT = 20, SOON_MS = 8000 };

static struct region *connect_hosts(int fd, struct side *side, struct offer *theirs)
{
	struct region *region;

	open_side(side, 256, 32);
	region = add_region(side, MESSAGE, ALL_REMOTE);
	*theirs = exchange_offers(fd, side, region);
	for (int i = 0; i < DEPTH; i++)
		CHECK_EQUAL(post_receive(side->qp, RECEIVE, sge_of(region, 0, MESSAGE)), 0);
	test_rendezvous(fd);
	return region;
}

/* Keeps DEPTH requests under way, and receives for the other side, until one fails. */
static void run_until_cut(struct side *side, enum ibv_wr_opcode opcode, const struct region *region,
			  const struct offer *theirs, bool cuts)
{
	uint64_t posted = 0, done = 0, last_success = test_now_ms();
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

	while (wc.status == IBV_WC_SUCCESS) {
		for (; posted - done < DEPTH; posted++)
			CHECK_EQUAL(post(side->qp, opcode, posted, sge_of(region, 0, MESSAGE), theirs->addr,
					 theirs->rkey),
				    0);
		wc = wait_completion(side->cq);
		if (wc.wr_id == RECEIVE && wc.status == IBV_WC_SUCCESS) {
			CHECK_EQUAL(post_receive(side->qp, RECEIVE, sge_of(region, 0, MESSAGE)), 0);
			continue;
		}
		CHECK_EQUAL(wc.wr_id, done);
		done++;
		if (wc.status == IBV_WC_SUCCESS)
			last_success = test_now_ms();
		if (cuts && done == BEFORE_CUT)
			hosts_set_link(false);
	}
	CHECK(test_now_ms() - last_success < SOON_MS);
	CHECK(done > BEFORE_CUT || !cuts);
	CHECK_EQUAL(wc.status, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(state_of(side->qp), IBV_QPS_ERR);
	for (int receives = DEPTH; done < posted || receives > 0;) {
		wc = wait_completion(side->cq);
		CHECK_EQUAL(wc.status, IBV_WC_WR_FLUSH_ERR);
		if (wc.wr_id == RECEIVE)
			receives--;
		else
			CHECK_EQUAL(wc.wr_id, done++);
	}
}

static void serve(int fd)
{
	struct side side;
	struct offer theirs;
	struct region *region = connect_hosts(fd, &side, &theirs);

	run_until_cut(&side, IBV_WR_SEND, region, &theirs, false);
	test_signal(fd);
	close_side(&side);

	connect_hosts(fd, &side, &theirs);
	test_await(fd);
	close_side(&side);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);
	struct side side;
	struct offer theirs;
	struct region *region = connect_hosts(peer.fd, &side, &theirs);

	run_until_cut(&side, IBV_WR_RDMA_READ, region, &theirs, true);
	test_await(peer.fd);
	close_side(&side);

	hosts_set_link(true);
	region = connect_hosts(peer.fd, &side, &theirs);
	read_and_expect(&side, 1, region, MESSAGE, theirs.addr, theirs.rkey, IBV_WC_SUCCESS);
	test_signal(peer.fd);
	close_side(&side);
	check_no_leaks();
	test_join_peer(&peer);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is stopped but alive: process_vm_readv goes on (it is one-sided), and a file whose descriptor is
 * here; the wire, a question for a descriptor and a new connection end as RETRY_EXC_ERR after a bounded time.
 */
#include "softdev_fixture.h"

enum { BYTES = 65536 };

static const struct connection quick = {.timeout = 10, .retry_count = 2};

struct offer {
	struct address address;
	uint64_t addr, second_addr;
	uint32_t rkey, second_rkey;
};

static void serve(int fd)
{
	struct side side;
	struct address remote;
	struct region region, second;
	struct offer offer;

	open_side(&side, 16, 16);
	region = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	second = create_region(side.pd, BYTES, IBV_ACCESS_REMOTE_READ);
	offer = (struct offer){address_of(&side), (uintptr_t)region.bytes, (uintptr_t)second.bytes,
			       region.mr->rkey, second.mr->rkey};
	test_receive(fd, &remote, sizeof(remote));
	connect_side(&side, &remote, NULL);
	test_send(fd, &offer, sizeof(offer));
	test_await(fd);
}

static void expect_read(struct side *side, struct region *sink, uint64_t addr, uint32_t rkey,
			enum ibv_wc_status status)
{
	uint64_t start = test_now_ms();

	CHECK_EQUAL(post_read(side->qp, 1, sink, BYTES, addr, rkey), 0);
	expect_completion(side->cq, 1, status);
	CHECK(test_now_ms() - start < 6000);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	struct address own;
	struct region sink;
	struct side side;
	struct offer offer;
	int status;

	open_side(&side, 16, 16);
	sink = create_region(side.pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_send(peer.fd, &own, sizeof(own));
	test_receive(peer.fd, &offer, sizeof(offer));
	connect_side(&side, &offer.address, &quick);
	expect_read(&side, &sink, offer.addr, offer.rkey, IBV_WC_SUCCESS);
	CHECK(!kill(peer.pid, SIGSTOP));
	CHECK_EQUAL(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	expect_read(&side, &sink, offer.addr, offer.rkey,
		    test_path_is_wire() ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	if (test_path_is("file"))
		expect_read(&side, &sink, offer.second_addr, offer.second_rkey, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &reset, IBV_QP_STATE), 0);
	connect_side(&side, &offer.address, &quick);
	expect_read(&side, &sink, offer.addr, offer.rkey, IBV_WC_RETRY_EXC_ERR);
	test_kill_peer(&peer);
	destroy_region(&sink);
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	on_all_paths(body);
}

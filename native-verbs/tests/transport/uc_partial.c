/* SPDX-License-Identifier: Apache-2.0 */
/* The sender on an unreliable connection dies in the middle of a message: the receiver never learns that there was one. */
#include "uc_side.h"

enum { LONG = 256 << 20 };

static void send_and_die(int fd)
{
	struct address own, remote;
	struct region region;
	struct side side;

	open_side(&side, 16, 16);
	create_uc_qp(&side);
	region = create_region(side.pd, LONG, IBV_ACCESS_LOCAL_WRITE);
	memset(region.bytes, 7, LONG);
	own = address_of(&side);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &remote, sizeof(remote));
	uc_to_rtr(&side, &remote);
	uc_to_rts(&side);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(&region, 0, LONG), 0, 0), 0);
	test_await(fd);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(send_and_die);
	struct ibv_qp_attr error = {.qp_state = IBV_QPS_ERR};
	uint64_t deadline = test_now_ms() + WAIT_MS;
	struct address own, remote;
	struct region region;
	struct side side;

	open_side(&side, 16, 16);
	create_uc_qp(&side);
	region = create_region(side.pd, LONG, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_receive(peer.fd, &remote, sizeof(remote));
	uc_to_rtr(&side, &remote);
	CHECK_EQUAL(post_receive(side.qp, 9, sge_of(&region, 0, LONG)), 0);
	test_send(peer.fd, &own, sizeof(own));
	while (*(volatile uint8_t *)region.bytes != 7)
		CHECK(test_now_ms() < deadline);
	test_kill_peer(&peer);
	test_sleep_ms(50);
	expect_no_completion(side.cq);
	CHECK_EQUAL(state_of(side.qp), IBV_QPS_RTR);
	CHECK_EQUAL(softverbs_ibv_modify_qp(side.qp, &error, IBV_QP_STATE), 0);
	expect_completion(side.cq, 9, IBV_WC_WR_FLUSH_ERR);
	expect_no_completion(side.cq);
	close(peer.fd);
	destroy_region(&region);
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	on_each_link(body);
}

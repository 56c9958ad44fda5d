/* SPDX-License-Identifier: Apache-2.0 */
/* A sender on an unreliable connection does not wait for ever for a peer that reads no more: what it sends is lost. */
#include "uc_side.h"

enum { BYTES = 1 << 20, SENDS = 32 };

static void serve(int fd)
{
	struct address own, remote;
	struct region region;
	struct side side;

	open_side(&side, 64, 64);
	create_uc_qp(&side);
	region = create_region(side.pd, BYTES, ALL_REMOTE);
	own = address_of(&side);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &remote, sizeof(remote));
	uc_to_rtr(&side, &remote);
	for (int i = 0; i < 64; i++)
		CHECK_EQUAL(post_receive(side.qp, i, sge_of(&region, 0, BYTES)), 0);
	test_signal(fd);
	test_await(fd); /* stopped here, and later not any more */
	for (struct ibv_wc wc = {0}; wc.byte_len != 77;) {
		wc = wait_completion(side.cq);
		CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	}
	destroy_region(&region);
	close_side(&side);
}

static void body(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct address own, remote;
	struct region region;
	struct side side;
	int status;

	open_side(&side, 64, 64);
	create_uc_qp(&side);
	region = create_region(side.pd, BYTES, ALL_REMOTE);
	own = address_of(&side);
	test_receive(peer.fd, &remote, sizeof(remote));
	uc_to_rtr(&side, &remote);
	uc_to_rts(&side);
	test_send(peer.fd, &own, sizeof(own));
	test_await(peer.fd);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 0, sge_of(&region, 0, 8), 0, 0), 0);
	expect_completion(side.cq, 0, IBV_WC_SUCCESS);
	CHECK(!kill(peer.pid, SIGSTOP));
	CHECK_EQUAL(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	for (int i = 0; i < SENDS; i++)
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, i, sge_of(&region, 0, BYTES), 0, 0), 0);
	for (int i = 0; i < SENDS; i++)
		expect_completion(side.cq, i, IBV_WC_SUCCESS);
	CHECK_EQUAL(state_of(side.qp), IBV_QPS_RTS);
	CHECK(!kill(peer.pid, SIGCONT));
	test_signal(peer.fd);
	/* Until one of these gets through. */
	for (int i = 0; i < 100 && !waitpid(peer.pid, &status, WNOHANG); i++) {
		CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(&region, 0, 77), 0, 0), 0);
		expect_completion(side.cq, 1, IBV_WC_SUCCESS);
		test_sleep_ms(50);
	}
	CHECK_EQUAL(status, 0);
	close(peer.fd);
	destroy_region(&region);
	close_side(&side);
	check_no_leaks();
}

int main(void)
{
	on_each_link(body);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer dies in the middle of a message that fills a receive of a shared queue: nothing completes, the other queue pairs
 * go on with the next receive, and the half-filled one is for them again when its queue pair is gone.
 */
#include "softdev_fixture.h"

enum { LONG = 256 << 20, SHORT = 4096 };

static void send_and_die(int fd)
{
	struct address own, remote;
	struct region region;
	struct side side;

	open_side(&side, 16, 16);
	region = create_region(side.pd, LONG, IBV_ACCESS_LOCAL_WRITE);
	memset(region.bytes, 7, LONG);
	own = address_of(&side);
	test_send(fd, &own, sizeof(own));
	test_receive(fd, &remote, sizeof(remote));
	connect_side(&side, &remote, NULL);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(&region, 0, LONG), 0, 0), 0);
	test_await(fd);
}

static int post_shared(struct ibv_srq *srq, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr *bad, wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void exchange(struct side *from, struct region *source, struct ibv_cq *cq, uint64_t wr_id)
{
	CHECK_EQUAL(post(from->qp, IBV_WR_SEND, 5, sge_of(source, 0, SHORT), 0, 0), 0);
	expect_completion(from->cq, 5, IBV_WC_SUCCESS);
	expect_completion(cq, wr_id, IBV_WC_SUCCESS);
}

static void body(void)
{
	struct ibv_srq_init_attr srq_init = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct test_peer peer = test_start_peer(send_and_die);
	struct address remote, here, there;
	struct ibv_qp_init_attr init = {.cap = {4, 0, 1, 0, 0}, .qp_type = IBV_QPT_RC};
	struct side to, from, first, second;
	struct region sink, source;
	uint64_t deadline = test_now_ms() + WAIT_MS;

	open_side(&to, 64, 4);
	open_side(&from, 64, 4);
	init.send_cq = init.recv_cq = to.cq;
	init.srq = softverbs_ibv_create_srq(to.pd, &srq_init);
	CHECK(init.srq);
	sink = create_region(to.pd, LONG + SHORT, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(from.pd, SHORT, IBV_ACCESS_LOCAL_WRITE);
	first = second = to;
	first.qp = softverbs_ibv_create_qp(to.pd, &init);
	second.qp = softverbs_ibv_create_qp(to.pd, &init);
	CHECK(first.qp && second.qp);
	CHECK_EQUAL(post_shared(init.srq, 1, sge_of(&sink, 0, LONG)), 0);
	CHECK_EQUAL(post_shared(init.srq, 2, sge_of(&sink, LONG, SHORT)), 0);
	here = address_of(&first);
	test_receive(peer.fd, &remote, sizeof(remote));
	connect_side(&first, &remote, NULL);
	test_send(peer.fd, &here, sizeof(here));
	there = address_of(&from);
	here = address_of(&second);
	connect_side(&second, &there, NULL);
	connect_side(&from, &here, NULL);
	while (*(volatile uint8_t *)sink.bytes != 7)
		CHECK(test_now_ms() < deadline);
	test_kill_peer(&peer);
	test_sleep_ms(50);
	expect_no_completion(to.cq);
	CHECK_EQUAL(state_of(first.qp), IBV_QPS_RTS);
	exchange(&from, &source, to.cq, 2);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(first.qp), 0);
	exchange(&from, &source, to.cq, 1);
	CHECK(!test_readable(to.context->async_fd, 0));
	CHECK_EQUAL(softverbs_ibv_destroy_qp(second.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(init.srq), 0);
	close(peer.fd);
	destroy_region(&sink);
	destroy_region(&source);
	close_side(&from);
	close_side(&to);
	check_no_leaks();
}

int main(void)
{
	on_each_link(body);
}

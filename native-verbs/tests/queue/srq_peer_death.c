/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer dies in the middle of a message that fills a receive of a shared queue: nothing completes, the other queue pairs
 * go on with the next receive, and the half-filled one is for them again when its queue pair is gone.
 */
#include "offer.h"

enum { LONG = 256 << 20, SHORT = 4096 };

static void send_and_die(int fd)
{
	struct region *region;
	struct side side;

	open_side(&side, 16, 16);
	region = add_region(&side, LONG, IBV_ACCESS_LOCAL_WRITE);
	memset(region->bytes, 7, LONG);
	connect_over(fd, &side, NULL);
	CHECK_EQUAL(post(side.qp, IBV_WR_SEND, 1, sge_of(region, 0, LONG), 0, 0), 0);
	test_await(fd);
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
	struct ibv_qp_init_attr init = {.cap = {4, 0, 1, 0, 0}, .qp_type = IBV_QPT_RC};
	struct side to, from, first, second;
	struct region *source, *sink;

	open_side(&to, 64, 4);
	open_side(&from, 64, 4);
	source = add_region(&from, SHORT, IBV_ACCESS_LOCAL_WRITE);
	sink = add_region(&to, LONG + SHORT, IBV_ACCESS_LOCAL_WRITE);
	init.send_cq = init.recv_cq = to.cq;
	init.srq = softverbs_ibv_create_srq(to.pd, &srq_init);
	CHECK(init.srq);
	first = second = to;
	first.qp = softverbs_ibv_create_qp(to.pd, &init);
	second.qp = softverbs_ibv_create_qp(to.pd, &init);
	CHECK(first.qp && second.qp);
	CHECK_EQUAL(post_shared(init.srq, 1, sge_of(sink, 0, LONG)), 0);
	CHECK_EQUAL(post_shared(init.srq, 2, sge_of(sink, LONG, SHORT)), 0);
	connect_over(peer.fd, &first, NULL);
	connect_sides(&from, &second, NULL, NULL);
	AWAIT(*(volatile uint8_t *)sink->bytes == 7);
	test_kill_peer(&peer);
	expect_silence(to.cq, 50);
	CHECK_EQUAL(state_of(first.qp), IBV_QPS_RTS);
	exchange(&from, source, to.cq, 2);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(first.qp), 0);
	exchange(&from, source, to.cq, 1);
	CHECK(!test_readable(to.context->async_fd, 0));
	CHECK_EQUAL(softverbs_ibv_destroy_qp(second.qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(init.srq), 0);
	close_side(&from);
	close_side(&to);
	check_no_leaks();
}

MAIN(on_each_link, body)

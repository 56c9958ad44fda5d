/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one context of the device has made another one does not know: a queue pair takes the queues of its protection
 * domain's context only, a completion queue the channel of its own. Programs that mix the context of rdma_cm with one that
 * they have opened find out here, not on hardware.
 */
#include "softdev_fixture.h"

static void expect_no_qp(struct ibv_pd *pd, struct ibv_cq *send_cq, struct ibv_cq *recv_cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = send_cq, .recv_cq = recv_cq, .srq = srq, .cap = {1, 1, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	CHECK_REFUSED(softverbs_ibv_create_qp(pd, &init), EINVAL);
}

int main(void)
{
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct side here, there;
	struct ibv_srq *srq;

	alarm(TEST_SECONDS);
	open_side(&here, 1, 1);
	open_side(&there, 1, 1);
	srq = softverbs_ibv_create_srq(there.pd, &srq_attr);
	CHECK(srq);
	expect_no_qp(here.pd, there.cq, here.cq, NULL);
	expect_no_qp(here.pd, here.cq, there.cq, NULL);
	expect_no_qp(there.pd, here.cq, here.cq, NULL);
	expect_no_qp(here.pd, here.cq, here.cq, srq);
	CHECK_REFUSED(softverbs_ibv_create_cq(here.context, 1, NULL, there.channel, 0), EBADF);
	CHECK_EQUAL(softverbs_ibv_destroy_srq(srq), 0);
	close_side(&here);
	close_side(&there);
	check_no_leaks();
}

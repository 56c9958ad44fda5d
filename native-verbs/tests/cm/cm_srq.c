/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_create_srq: the queue pairs of the id take their receives from it; misuse is refused. */
#include "cm_fixture.h"
#include "softdev_fixture.h"

int main(void)
{
	struct cm_scene scene = cm_open_scene();
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 8, .max_sge = 1}};
	struct ibv_recv_wr *bad, wr = {.wr_id = 5};
	struct ibv_send_wr *bad_send, send = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 7};
	struct rdma_cm_id *passive;
	struct ibv_wc wc;

	CHECK_FAILS(softverbs_rdma_create_srq(scene.active, NULL, &attr), EINVAL); /* of no device yet */
	cm_scene_ask(&scene);
	scene.passive = passive = cm_take_id(scene.there, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(!softverbs_rdma_create_srq(passive, NULL, &attr));
	CHECK(passive->srq && passive->pd);
	CHECK_FAILS(softverbs_rdma_create_srq(passive, NULL, &attr), EINVAL);
	CHECK_EQUAL(ibv_post_srq_recv(passive->srq, &wr, &bad), 0);
	cm_add_qp(passive);
	CHECK(passive->qp->srq == passive->srq);
	cm_accept(passive);
	cm_scene_established(&scene);
	CHECK_EQUAL(ibv_post_send(scene.active->qp, &send, &bad_send), 0);
	wc = wait_completion(passive->recv_cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.wr_id, 5);
	CHECK_EQUAL(wc.imm_data, 7);
	softverbs_rdma_destroy_qp(passive);
	softverbs_rdma_destroy_srq(passive);
	CHECK(!passive->srq);
	cm_close_scene(&scene);
}

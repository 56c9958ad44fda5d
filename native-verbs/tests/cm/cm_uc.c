/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_cm connects unreliable queue pairs as well, with the attributes that these have. */
#include "cm_fixture.h"
#include "softdev_fixture.h"

enum { BYTES = 64 };

static void add_uc_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
	};

	CHECK(!softverbs_rdma_create_qp(id, NULL, &attr));
}

int main(void)
{
	struct cm_scene scene = cm_open_scene();
	struct ibv_sge sge;
	struct ibv_send_wr *bad, send = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	struct region sink, source;

	cm_resolve(scene.active, CM_LOOPBACK, scene.port);
	add_uc_qp(scene.active);
	cm_connect(scene.active);
	scene.passive = cm_take_id(scene.there, RDMA_CM_EVENT_CONNECT_REQUEST);
	add_uc_qp(scene.passive);
	sink = create_region(scene.passive->pd, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source = create_region(scene.active->pd, BYTES, 0);
	fill_pattern(source.bytes, BYTES, 1);
	CHECK_EQUAL(post_receive(scene.passive->qp, 1, sge_of(&sink, 0, BYTES)), 0);
	cm_accept(scene.passive);
	cm_scene_established(&scene);
	CHECK_EQUAL(state_of(scene.active->qp), IBV_QPS_RTS);
	sge = sge_of(&source, 0, BYTES);
	CHECK_EQUAL(ibv_post_send(scene.active->qp, &send, &bad), 0);
	expect_completion(scene.active->send_cq, 2, IBV_WC_SUCCESS);
	expect_completion(scene.passive->recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(!memcmp(sink.bytes, source.bytes, BYTES));
	CHECK(!softverbs_rdma_disconnect(scene.active));
	CHECK_EQUAL(cm_take(scene.there, RDMA_CM_EVENT_DISCONNECTED), 0);
	destroy_region(&sink);
	destroy_region(&source);
	cm_close_scene(&scene);
}

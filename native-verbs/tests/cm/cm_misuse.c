/* SPDX-License-Identifier: Apache-2.0 */
/* A call that the state of its id does not allow fails with EINVAL and changes nothing. */
#include "cm_fixture.h"

int main(void)
{
	struct cm_scene scene = cm_open_scene();
	struct rdma_conn_param param = cm_param(NULL, 0), other = cm_param("other", 5);
	uint8_t private_data[56], zeros[56] = {0};

	CHECK_FAILS(softverbs_rdma_listen(scene.listener, 8), EINVAL);
	CHECK_FAILS(softverbs_rdma_connect(scene.active, &param), EINVAL);
	CHECK_FAILS(softverbs_rdma_accept(scene.active, &param), EINVAL);
	CHECK_FAILS(softverbs_rdma_disconnect(scene.active), EINVAL);
	CHECK_FAILS(softverbs_rdma_resolve_route(scene.active, 1000), EINVAL);
	cm_resolve(scene.active, CM_LOOPBACK, scene.port);
	CHECK_FAILS(softverbs_rdma_connect(scene.active, NULL), EINVAL); /* neither a queue pair nor its number */
	cm_add_qp(scene.active);
	cm_connect(scene.active);
	CHECK_FAILS(softverbs_rdma_connect(scene.active, &other), EINVAL);
	CHECK_FAILS(softverbs_rdma_listen(scene.active, 1), EINVAL);

	scene.passive = cm_take_request(scene.there, private_data);
	CHECK(!memcmp(private_data, zeros, sizeof(zeros)));
	cm_accept(scene.passive);
	CHECK_FAILS(softverbs_rdma_accept(scene.passive, &param), EINVAL);
	cm_scene_established(&scene);
	CHECK_FAILS(softverbs_rdma_accept(scene.passive, &param), EINVAL);
	CHECK_FAILS(softverbs_rdma_connect(scene.active, &other), EINVAL);
	CHECK_FAILS(softverbs_rdma_reject(scene.active, NULL, 0), EINVAL);
	CHECK_EQUAL(state_of(scene.active->qp), IBV_QPS_RTS);
	CHECK_EQUAL(state_of(scene.passive->qp), IBV_QPS_RTS);
	CHECK(!softverbs_rdma_disconnect(scene.passive));
	CHECK_EQUAL(cm_take(scene.here, RDMA_CM_EVENT_DISCONNECTED), 0);
	cm_close_scene(&scene);
}

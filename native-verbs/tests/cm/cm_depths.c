/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many READs each side of a connection may have outstanding: what was asked for and what was granted. RDMA_MAX_* of
 * the side that accepts grants what the other one asked for, and no more; so does an accept without a param. Each side
 * learns whether the other's queue pair has a shared receive queue.
 */
#include "cm_fixture.h"

enum { ASKED = 3, OFFERED = 2, DEVICE_MAX = 16 };

static void expect_depths(struct rdma_cm_id *id, int initiator, int responder)
{
	struct ibv_qp_attr attr = query_qp(id->qp, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC);

	CHECK_EQUAL(attr.max_rd_atomic, initiator);
	CHECK_EQUAL(attr.max_dest_rd_atomic, responder);
}

static void add_srq(struct rdma_cm_id *id)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 4, .max_sge = 1}};

	CHECK(!softverbs_rdma_create_srq(id, NULL, &attr));
}

/* The next event must say whether the other end has a shared receive queue; its id. */
static struct rdma_cm_id *take(struct rdma_event_channel *channel, enum rdma_cm_event_type type, bool with_srq)
{
	struct rdma_cm_event *event = cm_expect(channel, type);
	struct rdma_cm_id *id = event->id;

	CHECK_EQUAL(event->param.conn.srq, with_srq);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	return id;
}

/* The active side asks for `depth` and offers `resources`; the passive one answers with `answer`, or without it. */
static void connect_with(uint8_t depth, uint8_t resources, struct rdma_conn_param *answer, bool with_srq, int expected_depth,
			 int expected_resources)
{
	struct cm_scene scene = cm_open_scene();
	struct rdma_conn_param param = cm_param(NULL, 0);

	param.initiator_depth = depth;
	param.responder_resources = resources;
	cm_resolve(scene.active, CM_LOOPBACK, scene.port);
	if (with_srq)
		add_srq(scene.active);
	cm_add_qp(scene.active);
	CHECK(!softverbs_rdma_connect(scene.active, &param));
	scene.passive = take(scene.there, RDMA_CM_EVENT_CONNECT_REQUEST, with_srq);
	if (with_srq)
		add_srq(scene.passive);
	cm_add_qp(scene.passive);
	CHECK(!softverbs_rdma_accept(scene.passive, answer));
	take(scene.here, RDMA_CM_EVENT_ESTABLISHED, with_srq);
	cm_take(scene.there, RDMA_CM_EVENT_ESTABLISHED);
	expect_depths(scene.active, expected_depth, expected_resources);
	expect_depths(scene.passive, expected_resources, expected_depth);
	cm_close_scene(&scene);
}

int main(void)
{
	struct rdma_conn_param most = cm_param(NULL, 0), less = most;

	most.initiator_depth = RDMA_MAX_INIT_DEPTH;
	most.responder_resources = RDMA_MAX_RESP_RES;
	less.initiator_depth = less.responder_resources = 1;
	connect_with(ASKED, OFFERED, &most, false, ASKED, OFFERED);
	connect_with(ASKED, OFFERED, NULL, true, ASKED, OFFERED);
	connect_with(ASKED, OFFERED, &less, false, 1, 1);
	connect_with(RDMA_MAX_INIT_DEPTH, RDMA_MAX_RESP_RES, &most, false, DEVICE_MAX, DEVICE_MAX);
}

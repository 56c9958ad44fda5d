/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many READs each side of a connection may have outstanding: what was asked for and what was granted. RDMA_MAX_* of
 * the side that accepts grants what the other one asked for, and no more; so does an accept without a param. Each side
 * learns whether the other's queue pair has a shared receive queue.
 */
#include "cm_fixture.h"

enum { ASKED = 3, OFFERED = 2, DEVICE_MAX = 16 };

static struct ibv_qp_attr query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	CHECK(!softverbs_ibv_query_qp(qp, &attr, IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC, &init));
	return attr;
}

static void expect_depths(struct rdma_cm_id *id, int initiator, int responder)
{
	CHECK_EQUAL(query(id->qp).max_rd_atomic, initiator);
	CHECK_EQUAL(query(id->qp).max_dest_rd_atomic, responder);
}

/* The active side asks for `depth` and offers `resources`; the passive one answers with `answer`, or without it. */
static void connect_with(uint8_t depth, uint8_t resources, struct rdma_conn_param *answer, bool with_srq, int expected_depth,
			 int expected_resources)
{
	struct rdma_event_channel *here = cm_channel_open(), *there = cm_channel_open();
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_event *event;
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen_on(there, "127.0.0.1", 1, &port), *active = cm_id_open(here), *passive;

	param.initiator_depth = depth;
	param.responder_resources = resources;
	cm_resolve(active, "127.0.0.1", port);
	if (with_srq)
		CHECK(!softverbs_rdma_create_srq(active, NULL, &srq));
	cm_add_qp(active);
	CHECK(!softverbs_rdma_connect(active, &param));
	event = cm_expect(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK_EQUAL(event->param.conn.srq, with_srq);
	passive = event->id;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	if (with_srq)
		CHECK(!softverbs_rdma_create_srq(passive, NULL, &srq));
	cm_add_qp(passive);
	CHECK(!softverbs_rdma_accept(passive, answer));
	event = cm_expect(here, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQUAL(event->param.conn.srq, with_srq);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	cm_take(there, RDMA_CM_EVENT_ESTABLISHED);
	expect_depths(active, expected_depth, expected_resources);
	expect_depths(passive, expected_resources, expected_depth);
	softverbs_rdma_destroy_ep(active);
	softverbs_rdma_destroy_ep(passive);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(here);
	softverbs_rdma_destroy_event_channel(there);
}

int main(void)
{
	struct rdma_conn_param most = cm_param(NULL, 0), less = most;

	alarm(TEST_SECONDS);
	most.initiator_depth = RDMA_MAX_INIT_DEPTH;
	most.responder_resources = RDMA_MAX_RESP_RES;
	less.initiator_depth = less.responder_resources = 1;
	connect_with(ASKED, OFFERED, &most, false, ASKED, OFFERED);
	connect_with(ASKED, OFFERED, NULL, true, ASKED, OFFERED);
	connect_with(ASKED, OFFERED, &less, false, 1, 1);
	connect_with(RDMA_MAX_INIT_DEPTH, RDMA_MAX_RESP_RES, &most, false, DEVICE_MAX, DEVICE_MAX);
}

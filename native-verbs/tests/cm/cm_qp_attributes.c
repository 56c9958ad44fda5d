/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue pair of an id has the attributes that the kernel's CM gives one; a program may also bring its own
 * queue pair, move it by rdma_init_qp_attr and finish with rdma_establish.
 */
#include "cm_fixture.h"

static struct ibv_qp_attr query(struct ibv_qp *qp)
{
	return query_qp(qp, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_DEST_QPN | IBV_QP_AV | IBV_QP_SQ_PSN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | IBV_QP_TIMEOUT | IBV_QP_PORT);
}

static void move(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int mask;

	CHECK(!softverbs_rdma_init_qp_attr(id, &attr, &mask));
	CHECK_EQUAL(softverbs_ibv_modify_qp(qp, &attr, mask), 0);
}

static void client_with_its_own_queue_pair(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *id = cm_id_open(channel);
	struct ibv_qp_attr attr;
	struct rdma_cm_event *event;
	struct ibv_qp *qp;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	cm_resolve(id, CM_LOOPBACK, cm_receive_port(fd));
	pd = softverbs_ibv_alloc_pd(id->verbs);
	cq = softverbs_ibv_create_cq(id->verbs, 8, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	CHECK(!softverbs_rdma_create_qp(id, pd, &init));
	CHECK(id->qp->pd == pd);
	softverbs_rdma_destroy_qp(id);
	qp = softverbs_ibv_create_qp(pd, &init);
	CHECK(qp);
	param.qp_num = qp->qp_num;
	param.responder_resources = 3;
	param.initiator_depth = 5;
	param.rnr_retry_count = 2;
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	CHECK(event->param.conn.qp_num);
	move(id, qp, IBV_QPS_INIT);
	move(id, qp, IBV_QPS_RTR);
	move(id, qp, IBV_QPS_RTS);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(!softverbs_rdma_establish(id));
	attr = query(qp);
	CHECK_EQUAL(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQUAL(attr.max_rd_atomic, 5);
	CHECK_EQUAL(attr.max_dest_rd_atomic, 3);
	CHECK_EQUAL(attr.rnr_retry, 6);
	test_send(fd, &attr.sq_psn, sizeof(attr.sq_psn));
	test_await(fd);
	CHECK_EQUAL(softverbs_ibv_destroy_qp(qp), 0);
	CHECK_EQUAL(softverbs_ibv_destroy_cq(cq), 0);
	CHECK_EQUAL(softverbs_ibv_dealloc_pd(pd), 0);
	CHECK(!softverbs_rdma_destroy_id(id));
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client_with_its_own_queue_pair);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *id;
	struct ibv_qp_attr attr;
	uint32_t psn;
	uint16_t port;

	listener = cm_listen_on(channel, "0.0.0.0", 1, &port); /* the wildcard is loopback, too */
	test_send(peer.fd, &port, sizeof(port));
	id = cm_take_request(channel, NULL);
	attr = query(id->qp);
	CHECK_EQUAL(attr.qp_state, IBV_QPS_INIT);
	CHECK_EQUAL(attr.port_num, 1);
	CHECK_EQUAL(attr.qp_access_flags,
		    IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	param.responder_resources = 5;
	param.initiator_depth = 3;
	param.rnr_retry_count = 6;
	CHECK(!softverbs_rdma_accept(id, &param));
	cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	attr = query(id->qp);
	CHECK_EQUAL(attr.qp_state, IBV_QPS_RTS);
	CHECK_EQUAL(attr.max_rd_atomic, 3);
	CHECK_EQUAL(attr.max_dest_rd_atomic, 5);
	CHECK_EQUAL(attr.retry_cnt, 7);
	CHECK_EQUAL(attr.rnr_retry, 2);
	CHECK_EQUAL(attr.min_rnr_timer, 0);
	CHECK_EQUAL(attr.ah_attr.is_global, 1);
	test_receive(peer.fd, &psn, sizeof(psn));
	CHECK_EQUAL(attr.rq_psn, psn);
	test_signal(peer.fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);
	test_join_peer(&peer);
	cm_close_all(channel, listener);
}

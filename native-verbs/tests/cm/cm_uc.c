/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_cm connects unreliable queue pairs as well, with the attributes that these have. */
#include "cm_fixture.h"

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

static struct ibv_wc wait_for(struct ibv_cq *cq)
{
	uint64_t deadline = test_now_ms() + EVENT_WAIT_MS;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc)) {
		CHECK(test_now_ms() < deadline);
		usleep(100);
	}
	return wc;
}

int main(void)
{
	struct rdma_event_channel *there = cm_channel_open(), *here = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *server, *client = cm_id_open(here);
	struct rdma_cm_event *event;
	struct ibv_recv_wr *bad_receive, receive = {.num_sge = 1};
	struct ibv_send_wr *bad_send, send = {.num_sge = 1, .opcode = IBV_WR_SEND};
	struct ibv_mr *sink_mr, *source_mr;
	char sink[BYTES] = "", source[BYTES] = "by an unreliable connection";
	struct ibv_sge sges[2];
	struct ibv_wc wc;
	uint16_t port;

	alarm(TEST_SECONDS);
	listener = cm_listen_on(there, "127.0.0.1", 4, &port);
	cm_resolve(client, "127.0.0.1", port);
	add_uc_qp(client);
	CHECK(!softverbs_rdma_connect(client, &param));
	event = cm_expect(there, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	add_uc_qp(server);
	sink_mr = softverbs_ibv_reg_mr(server->pd, sink, BYTES, IBV_ACCESS_LOCAL_WRITE);
	source_mr = softverbs_ibv_reg_mr(client->pd, source, BYTES, 0);
	CHECK(sink_mr && source_mr);
	sges[0] = (struct ibv_sge){(uintptr_t)sink, BYTES, sink_mr->lkey};
	sges[1] = (struct ibv_sge){(uintptr_t)source, BYTES, source_mr->lkey};
	receive.sg_list = &sges[0];
	send.sg_list = &sges[1];
	CHECK_EQUAL(ibv_post_recv(server->qp, &receive, &bad_receive), 0);
	CHECK(!softverbs_rdma_accept(server, &param));
	CHECK_EQUAL(cm_take(here, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(cm_take(there, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(cm_qp_state(client), IBV_QPS_RTS);
	CHECK_EQUAL(ibv_post_send(client->qp, &send, &bad_send), 0);
	CHECK_EQUAL(wait_for(client->send_cq).status, IBV_WC_SUCCESS);
	wc = wait_for(server->recv_cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK(!strcmp(sink, source));
	CHECK(!softverbs_rdma_disconnect(client));
	CHECK_EQUAL(cm_take(there, RDMA_CM_EVENT_DISCONNECTED), 0);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(sink_mr), 0);
	CHECK_EQUAL(softverbs_ibv_dereg_mr(source_mr), 0);
	cm_close(client);
	cm_close(server);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(here);
	softverbs_rdma_destroy_event_channel(there);
}

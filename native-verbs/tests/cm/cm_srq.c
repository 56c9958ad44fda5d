/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_create_srq: the queue pairs of the id take their receives from it; misuse is refused. */
#include "cm_fixture.h"
#include "softdev_fixture.h"

static struct ibv_srq_init_attr srq_attr(void)
{
	return (struct ibv_srq_init_attr){.attr = {.max_wr = 8, .max_sge = 1}};
}

int main(void)
{
	struct rdma_event_channel *channel;
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct ibv_srq_init_attr attr = srq_attr();
	struct rdma_cm_id *listener, *active, *passive;
	struct rdma_cm_event *event;
	struct ibv_recv_wr *bad, wr = {.wr_id = 5};
	struct ibv_send_wr *bad_send, send = {.opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 7};
	struct ibv_wc wc;
	uint16_t port;

	alarm(TEST_SECONDS);
	channel = cm_channel_open();
	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	active = cm_id_open(channel);
	CHECK(softverbs_rdma_create_srq(active, NULL, &attr) && errno == EINVAL); /* of no device yet */
	cm_resolve(active, "127.0.0.1", port);
	cm_add_qp(active);
	CHECK(!softverbs_rdma_connect(active, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event->id;
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK(!softverbs_rdma_create_srq(passive, NULL, &attr));
	CHECK(passive->srq && passive->pd);
	CHECK(softverbs_rdma_create_srq(passive, NULL, &attr) && errno == EINVAL);
	CHECK_EQUAL(ibv_post_srq_recv(passive->srq, &wr, &bad), 0);
	cm_add_qp(passive);
	CHECK(passive->qp->srq == passive->srq);
	CHECK(!softverbs_rdma_accept(passive, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(ibv_post_send(active->qp, &send, &bad_send), 0);
	wc = wait_completion(passive->recv_cq);
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	CHECK_EQUAL(wc.wr_id, 5);
	CHECK_EQUAL(wc.imm_data, 7);
	cm_close(active);
	softverbs_rdma_destroy_qp(passive);
	softverbs_rdma_destroy_srq(passive);
	CHECK(!passive->srq);
	CHECK(!softverbs_rdma_destroy_id(passive));
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

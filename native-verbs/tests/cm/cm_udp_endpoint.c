/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_create_ep for datagrams: synchronous ids from names to a datagram, with completion events; a shared receive queue
 * of the endpoint goes with it.
 */
#include "cm_fixture.h"
#include "ud_fixture.h"

static struct ibv_qp_init_attr queue_pair(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 16},
		.sq_sig_all = 1,
	};
}

static struct rdma_cm_id *open_endpoint(const char *node, const char *service, int flags, struct ibv_qp_init_attr *attr)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_UDP}, *found;
	struct rdma_cm_id *id;

	CHECK(!softverbs_rdma_getaddrinfo(node, service, &hints, &found));
	CHECK_EQUAL(found->ai_qp_type, IBV_QPT_UD);
	CHECK(!softverbs_rdma_create_ep(&id, found, NULL, attr));
	softverbs_rdma_freeaddrinfo(found);
	return id;
}

static void client(int fd)
{
	struct ibv_qp_init_attr attr = queue_pair();
	struct rdma_conn_param param = {.private_data = "hello", .private_data_len = 5};
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct rdma_ud_param *to;
	struct ibv_sge sge = {(uintptr_t)"datagram", 8, 0};
	struct ibv_send_wr *bad, wr;
	struct ibv_ah *ah;
	struct rdma_cm_id *id;
	char service[8];

	snprintf(service, sizeof(service), "%d", ntohs(cm_receive_port(fd)));
	id = open_endpoint("127.0.0.1", service, 0, &attr);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
	CHECK(!softverbs_rdma_create_srq(id, NULL, &srq_attr));
	CHECK(!softverbs_rdma_connect(id, &param));
	CHECK_EQUAL(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	to = &id->event->param.ud;
	CHECK(!memcmp(to->private_data, "welcome", 7));
	ah = softverbs_ibv_create_ah(id->pd, &to->ah_attr);
	CHECK(ah);
	wr = ud_wr(ah, to->qp_num, 1, &sge);
	wr.wr.ud.remote_qkey = to->qkey;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK_EQUAL(ibv_post_send(id->qp, &wr, &bad), 0);
	expect_completion(id->send_cq, 1, IBV_WC_SUCCESS);
	CHECK_EQUAL(softverbs_ibv_destroy_ah(ah), 0);
	softverbs_rdma_destroy_ep(id);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct ibv_qp_init_attr attr = queue_pair();
	struct rdma_conn_param param = {.private_data = "welcome", .private_data_len = 7};
	struct rdma_cm_id *listener = open_endpoint("127.0.0.1", "0", RAI_PASSIVE, &attr), *id;
	struct region region;
	uint16_t port;

	CHECK(!softverbs_rdma_listen(listener, 0));
	port = softverbs_rdma_get_src_port(listener);
	test_send(peer.fd, &port, sizeof(port));
	CHECK(!softverbs_rdma_get_request(listener, &id));
	CHECK(!memcmp(id->event->param.ud.private_data, "hello", 5));
	CHECK_EQUAL(id->qp->qp_type, IBV_QPT_UD);
	region = create_region(id->pd, 128, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQUAL(ibv_req_notify_cq(id->recv_cq, 0), 0);
	CHECK_EQUAL(post_receive(id->qp, 2, sge_of(&region, 0, 128)), 0);
	CHECK(!softverbs_rdma_accept(id, &param));
	CHECK(!id->event);
	CHECK(id->recv_cq->cq_context == id);
	CHECK(take_cq_event(id->recv_cq_channel) == id->recv_cq); /* by the channel that the id has */
	CHECK_EQUAL(wait_completion(id->recv_cq).byte_len, GRH_BYTES + 8);
	CHECK(!memcmp(region.bytes + GRH_BYTES, "datagram", 8));
	test_join_peer(&peer);
	destroy_region(&region);
	softverbs_rdma_destroy_ep(id);
	softverbs_rdma_destroy_ep(listener);
}

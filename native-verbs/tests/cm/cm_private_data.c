/* SPDX-License-Identifier: Apache-2.0 */
/* Connect, accept and reject carry private data at its full size, zero padded, and swap the READ limits. */
#include "cm_fixture.h"

static void client(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	static const uint8_t nothing[256];
	struct rdma_conn_param param = cm_param("question", 8);
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	id = cm_id_open(channel);
	cm_resolve(id, "127.0.0.1", port);
	cm_add_qp(id);
	param.responder_resources = 3;
	param.initiator_depth = 5;
	param.private_data_len = 57;
	CHECK_EQUAL(softverbs_rdma_connect(id, &param), -1);
	CHECK_EQUAL(errno, EINVAL);
	param.private_data_len = 8;
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQUAL(event->param.conn.private_data_len, 196);
	CHECK(!memcmp(event->param.conn.private_data, "answer", 6));
	CHECK(!memcmp((const uint8_t *)event->param.conn.private_data + 6, nothing, 190));
	CHECK_EQUAL(event->param.conn.responder_resources, 2);
	CHECK_EQUAL(event->param.conn.initiator_depth, 1);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	test_await(fd);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_ERR);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);

	id = cm_id_open(channel);
	cm_resolve(id, "127.0.0.1", port);
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_REJECTED);
	CHECK_EQUAL(event->status, 28);
	CHECK_EQUAL(event->param.conn.private_data_len, 148);
	CHECK(!memcmp(event->param.conn.private_data, "no", 2));
	CHECK(!memcmp((const uint8_t *)event->param.conn.private_data + 2, nothing, 146));
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_ERR);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param("answer", 6);
	uint8_t expected[56] = "question", received[56];
	struct rdma_cm_id *listener, *id;
	struct rdma_cm_event *event;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 8, &port);
	test_send(peer.fd, &port, sizeof(port));
	event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	CHECK(event->listen_id == listener);
	CHECK_EQUAL(event->param.conn.responder_resources, 5);
	CHECK_EQUAL(event->param.conn.initiator_depth, 3);
	CHECK_EQUAL(event->param.conn.retry_count, 7);
	CHECK(event->param.conn.qp_num);
	CHECK_EQUAL(event->param.conn.private_data_len, 56);
	CHECK(!memcmp(event->param.conn.private_data, expected, sizeof(expected)));
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(softverbs_rdma_get_src_port(id), port);
	CHECK(softverbs_rdma_get_dst_port(id));
	cm_add_qp(id);
	param.responder_resources = 1;
	param.initiator_depth = 2;
	param.private_data_len = 197;
	CHECK_EQUAL(softverbs_rdma_accept(id, &param), -1);
	CHECK_EQUAL(errno, EINVAL);
	param.private_data_len = 6;
	CHECK(!softverbs_rdma_accept(id, &param));
	cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	test_signal(peer.fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_ERR);
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);

	id = cm_take_request(channel, received);
	CHECK(!memcmp(received, expected, sizeof(expected)));
	CHECK(!softverbs_rdma_reject(id, "no", 2));
	cm_close(id);
	test_join_peer(&peer);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Connect, accept and reject carry private data at its full size, zero padded, and swap the READ limits. */
#include "cm_fixture.h"

enum { REQUEST_BYTES = 56, REPLY_BYTES = 196, REJECT_BYTES = 148 };

/* The rest of what was given is zeros. */
static void expect_data(const struct rdma_cm_event *event, size_t length, const char *text)
{
	const char *data = event->param.conn.private_data;

	CHECK_EQUAL(event->param.conn.private_data_len, length);
	CHECK(!memcmp(data, text, strlen(text)));
	for (size_t i = strlen(text); i < length; i++)
		CHECK_EQUAL(data[i], 0);
}

static void client(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param("question", 8);
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_cm_event *event;

	cm_prepare(id, CM_LOOPBACK, port);
	param.responder_resources = 3;
	param.initiator_depth = 5;
	param.private_data_len = REQUEST_BYTES + 1;
	CHECK_FAILS(softverbs_rdma_connect(id, &param), EINVAL);
	param.private_data_len = 8;
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	expect_data(event, REPLY_BYTES, "answer");
	CHECK_EQUAL(event->param.conn.responder_resources, 2);
	CHECK_EQUAL(event->param.conn.initiator_depth, 1);
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
	test_await(fd);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_ERR);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);

	id = cm_id_open(channel);
	cm_prepare(id, CM_LOOPBACK, port);
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_REJECTED);
	CHECK_EQUAL(event->status, 28);
	expect_data(event, REJECT_BYTES, "no");
	CHECK(!softverbs_rdma_ack_cm_event(event));
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_ERR);
	cm_close_all(channel, id);
}

/* The id of the next request. */
static struct rdma_cm_id *take_question(struct rdma_event_channel *channel, const struct rdma_cm_id *listener)
{
	struct rdma_cm_event *event = cm_expect(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	struct rdma_cm_id *id = event->id;

	CHECK(event->listen_id == listener);
	CHECK_EQUAL(event->param.conn.responder_resources, 5);
	CHECK_EQUAL(event->param.conn.initiator_depth, 3);
	CHECK_EQUAL(event->param.conn.retry_count, 7);
	CHECK(event->param.conn.qp_num);
	expect_data(event, REQUEST_BYTES, "question");
	CHECK(!softverbs_rdma_ack_cm_event(event));
	cm_add_qp(id);
	return id;
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param("answer", 6);
	struct rdma_cm_id *listener = cm_listen_for(peer.fd, channel, 8), *id = take_question(channel, listener);

	CHECK_EQUAL(softverbs_rdma_get_src_port(id), softverbs_rdma_get_src_port(listener));
	CHECK(softverbs_rdma_get_dst_port(id));
	param.responder_resources = 1;
	param.initiator_depth = 2;
	param.private_data_len = REPLY_BYTES + 1;
	CHECK_FAILS(softverbs_rdma_accept(id, &param), EINVAL);
	param.private_data_len = 6;
	CHECK(!softverbs_rdma_accept(id, &param));
	cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
	test_signal(peer.fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_RTS);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_ERR);
	cm_take(channel, RDMA_CM_EVENT_TIMEWAIT_EXIT);
	cm_close(id);

	id = take_question(channel, listener);
	CHECK(!softverbs_rdma_reject(id, "no", 2));
	cm_close(id);
	test_join_peer(&peer);
	cm_close_all(channel, listener);
}

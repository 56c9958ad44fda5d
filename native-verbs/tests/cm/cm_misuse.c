/* SPDX-License-Identifier: Apache-2.0 */
/* A call that the state of its id does not allow fails with EINVAL and changes nothing. */
#include "cm_fixture.h"

static void expect_invalid(int result)
{
	CHECK_EQUAL(result, -1);
	CHECK_EQUAL(errno, EINVAL);
}

static void client(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0), other = cm_param("other", 5);
	struct rdma_cm_id *id = cm_id_open(channel);
	uint16_t port;

	expect_invalid(softverbs_rdma_connect(id, &param));
	expect_invalid(softverbs_rdma_accept(id, &param));
	expect_invalid(softverbs_rdma_disconnect(id));
	expect_invalid(softverbs_rdma_resolve_route(id, 1000));
	test_receive(fd, &port, sizeof(port));
	cm_resolve(id, "127.0.0.1", port);
	expect_invalid(softverbs_rdma_connect(id, NULL)); /* neither a queue pair nor its number */
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	expect_invalid(softverbs_rdma_connect(id, &other));
	expect_invalid(softverbs_rdma_listen(id, 1));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	expect_invalid(softverbs_rdma_connect(id, &other));
	expect_invalid(softverbs_rdma_reject(id, NULL, 0));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	test_signal(fd);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	uint8_t private_data[56], zeros[56] = {0};
	struct rdma_cm_id *listener, *id;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", 8, &port);
	expect_invalid(softverbs_rdma_listen(listener, 8));
	test_send(peer.fd, &port, sizeof(port));
	id = cm_take_request(channel, private_data);
	CHECK(!memcmp(private_data, zeros, sizeof(zeros)));
	CHECK(!softverbs_rdma_accept(id, &param));
	expect_invalid(softverbs_rdma_accept(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	expect_invalid(softverbs_rdma_accept(id, &param));
	CHECK_EQUAL(cm_qp_state(id), IBV_QPS_RTS);
	test_await(peer.fd);
	CHECK(!softverbs_rdma_disconnect(id));
	test_join_peer(&peer);
	cm_close(id);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

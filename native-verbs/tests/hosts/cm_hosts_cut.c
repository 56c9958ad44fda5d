/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host loses its link while it has a connection: the next send ends in RETRY_EXC_ERR, rdma_disconnect in DISCONNECTED
 * although nobody answers, and a new connect in UNREACHABLE; none of it takes longer than its timeouts.
 */
#define _GNU_SOURCE
#include "cm_fixture.h"
#include "hosts_fixture.h"
#include "softdev_fixture.h"

/* Retries take two seconds here, the wait for an answer to a disconnect five; the rest is for a busy host. */
enum { SEND_MS = 12000, DISCONNECT_MS = 12000 };

static void expect_retry_error(struct rdma_cm_id *id)
{
	uint64_t start = test_now_ms();

	CHECK_EQUAL(post(id->qp, IBV_WR_SEND, 1, (struct ibv_sge){0}, 0, 0), 0);
	expect_completion(id->send_cq, 1, IBV_WC_RETRY_EXC_ERR);
	CHECK(test_now_ms() - start < SEND_MS);
	CHECK_EQUAL(state_of(id->qp), IBV_QPS_ERR);
}

/* Host 1 connects, and is cut off by host 0. */
static void serve(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open(), *other = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel), *second = cm_id_open(other);
	uint16_t port = cm_receive_port(fd);
	uint8_t soon = 10;
	uint64_t start;

	CHECK(!softverbs_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &soon, sizeof(soon)));
	cm_prepare(id, HOST_0_V4, port);
	cm_connect(id);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	cm_prepare(second, HOST_0_V4, port);
	test_rendezvous(fd);

	cm_connect(second);
	expect_retry_error(id);
	start = test_now_ms();
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), -ETIMEDOUT);
	CHECK(test_now_ms() - start < DISCONNECT_MS);
	CHECK_EQUAL(cm_take(other, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	cm_close_all(channel, id);
	cm_close_all(other, second);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);
	struct rdma_event_channel *channel = cm_channel_open();
	uint16_t port;
	struct rdma_cm_id *listener = cm_listen_on(channel, HOST_0_V4, 8, &port), *id;

	test_send(peer.fd, &port, sizeof(port));
	id = cm_accept_from(channel);
	test_await(peer.fd);
	hosts_set_link(false);
	test_finish_peer(&peer);
	cm_close_all(channel, id, listener);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_notify: who has accepted and receives on the queue pair already is ESTABLISHED by it, once; where there is a
 * connection it says EISCONN, which programs may pass over, and without anything accepted EINVAL.
 */
#include "cm_fixture.h"

static void expect_error(struct rdma_cm_id *id, enum ibv_event_type event, int error)
{
	CHECK_EQUAL(softverbs_rdma_notify(id, event), -1);
	CHECK_EQUAL(errno, error);
}

int main(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *here, *there;
	struct rdma_cm_id *listener, *active, *passive;
	uint16_t port;

	alarm(TEST_SECONDS);
	here = cm_channel_open();
	there = cm_channel_open();
	listener = cm_listen_on(there, "127.0.0.1", 1, &port);
	active = cm_id_open(here);
	expect_error(active, IBV_EVENT_COMM_EST, EINVAL);
	cm_resolve(active, "127.0.0.1", port);
	cm_add_qp(active);
	CHECK(!softverbs_rdma_connect(active, &param));
	passive = cm_take_request(there, NULL);
	expect_error(passive, IBV_EVENT_COMM_EST, EINVAL);
	CHECK(!softverbs_rdma_accept(passive, &param));
	expect_error(passive, IBV_EVENT_QP_FATAL, EINVAL);
	CHECK(!softverbs_rdma_notify(passive, IBV_EVENT_COMM_EST));
	CHECK_EQUAL(cm_take(there, RDMA_CM_EVENT_ESTABLISHED), 0);
	expect_error(passive, IBV_EVENT_COMM_EST, EISCONN);
	CHECK_EQUAL(cm_take(here, RDMA_CM_EVENT_ESTABLISHED), 0);
	expect_error(active, IBV_EVENT_COMM_EST, EISCONN);
	CHECK(!test_readable(there->fd, 100));
	cm_close(active);
	CHECK_EQUAL(cm_take(there, RDMA_CM_EVENT_DISCONNECTED), 0);
	cm_close(passive);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(here);
	softverbs_rdma_destroy_event_channel(there);
}

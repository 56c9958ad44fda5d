/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the child of a fork every call of the connection manager on what it inherited fails with EIO, and its parent loses nothing
 * by them; the child holds no socket, so that no port stays taken. It may begin anew.
 */
#include "cm_fixture.h"
#include "descriptors.h"

static void use_in_child(struct rdma_event_channel *channel, struct rdma_cm_id *id)
{
	struct sockaddr_storage address = cm_address("127.0.0.1", 0);
	struct rdma_cm_event *event;
	struct rdma_cm_id *other;

	CHECK_FAILS(softverbs_rdma_create_id(channel, &other, NULL, RDMA_PS_TCP), EIO);
	CHECK_FAILS(softverbs_rdma_bind_addr(id, (struct sockaddr *)&address), EIO);
	CHECK_FAILS(softverbs_rdma_resolve_route(id, 1000), EIO);
	CHECK_FAILS(softverbs_rdma_get_cm_event(channel, &event), EIO);
	CHECK_FAILS(softverbs_rdma_destroy_id(id), EIO);
	softverbs_rdma_destroy_event_channel(channel);
	channel = cm_channel_open();
	other = cm_id_open(channel);
	CHECK(!softverbs_rdma_bind_addr(other, (struct sockaddr *)&address));
	CHECK(!softverbs_rdma_destroy_id(other));
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel), *listener;
	int sockets = open_sockets();
	uint16_t port;
	pid_t pid;

	alarm(TEST_SECONDS);
	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	cm_request_address(id, CM_LOOPBACK, htons(4000));
	pid = test_fork();
	if (!pid) {
		CHECK_EQUAL(open_sockets(), sockets);
		use_in_child(channel, id);
		exit(0);
	}
	test_join(pid);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_destroy_id(id));
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

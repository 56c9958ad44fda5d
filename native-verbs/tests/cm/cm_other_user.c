/* SPDX-License-Identifier: Apache-2.0 */
/* A process of another user may not connect: UNREACHABLE with EACCES there, no request here. */
#include <grp.h>

#include "cm_fixture.h"

enum { NOBODY = 65534 };

static void connect_as_nobody(int fd)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint16_t port;

	CHECK(!setgroups(0, NULL));
	CHECK(!setgid(NOBODY));
	CHECK(!setuid(NOBODY));
	test_receive(fd, &port, sizeof(port));
	channel = cm_channel_open();
	id = cm_id_open(channel);
	cm_resolve(id, "127.0.0.1", port);
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_UNREACHABLE), -EACCES);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct test_peer peer;
	uint16_t port;

	if (geteuid())
		test_skip("only root can start a process of another user");
	peer = test_start_peer(connect_as_nobody);
	channel = cm_channel_open();
	listener = cm_listen_on(channel, "127.0.0.1", 8, &port);
	test_send(peer.fd, &port, sizeof(port));
	test_join_peer(&peer);
	CHECK(!test_readable(channel->fd, 0));
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

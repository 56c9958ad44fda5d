/* SPDX-License-Identifier: Apache-2.0 */
/* A process of another user may not connect: UNREACHABLE with EACCES there, no request here. */
#include "cm_fixture.h"
#include "users.h"

static void connect_as_nobody(int fd)
{
	struct rdma_event_channel *channel;
	uint16_t port;

	become_user(NOBODY);
	port = cm_receive_port(fd);
	channel = cm_channel_open();
	CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_UNREACHABLE), -EACCES);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct test_peer peer;

	need_root();
	peer = test_start_peer(connect_as_nobody);
	channel = cm_channel_open();
	listener = cm_listen_for(peer.fd, channel, 8);
	test_join_peer(&peer);
	CHECK(!test_readable(channel->fd, 0));
	cm_close_all(channel, listener);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A listener that reads no requests holds `backlog` of them; the others get through once it reads. */
#include "cm_fixture.h"

enum { CLIENTS = 5, BACKLOG = 2 };

static void clients(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *ids[CLIENTS];

	for (int i = 0; i < CLIENTS; i++)
		ids[i] = cm_ask(channel, CM_LOOPBACK, port);
	CHECK(!test_readable(channel->fd, 300));
	test_signal(fd);
	for (int i = 0; i < CLIENTS; i++)
		cm_take(channel, RDMA_CM_EVENT_ESTABLISHED);
	test_await(fd);
	for (int i = 0; i < CLIENTS; i++)
		cm_close(ids[i]);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = test_start_peer(clients);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener = cm_listen_for(peer.fd, channel, BACKLOG), *ids[CLIENTS];
	int accepted = 0, established = 0;

	test_await(peer.fd);
	for (int i = 0; i < BACKLOG; i++) {
		ids[accepted++] = cm_take_request(channel, NULL);
		if (i == 0)
			CHECK(test_readable(channel->fd, 0));
	}
	for (int i = 0; i < BACKLOG; i++)
		cm_accept(ids[i]);
	while (established < CLIENTS) {
		struct rdma_cm_id *id;
		enum rdma_cm_event_type type = cm_next(channel, &id);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			cm_add_qp(id);
			cm_accept(id);
			ids[accepted++] = id;
		} else {
			CHECK_EQUAL(type, RDMA_CM_EVENT_ESTABLISHED);
			established++;
		}
	}
	CHECK_EQUAL(accepted, CLIENTS);
	test_signal(peer.fd);
	for (int i = 0; i < CLIENTS; i++)
		cm_close(ids[i]);
	test_join_peer(&peer);
	cm_close_all(channel, listener);
}

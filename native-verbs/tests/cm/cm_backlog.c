/* SPDX-License-Identifier: Apache-2.0 */
/* A listener that reads no requests holds `backlog` of them; the others get through once it reads. */
#include "cm_fixture.h"

enum { CLIENTS = 5, BACKLOG = 2 };

static void clients(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *ids[CLIENTS];
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	for (int i = 0; i < CLIENTS; i++) {
		ids[i] = cm_id_open(channel);
		cm_resolve(ids[i], "127.0.0.1", port);
		cm_add_qp(ids[i]);
		CHECK(!softverbs_rdma_connect(ids[i], &param));
	}
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
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *listener, *ids[CLIENTS];
	struct rdma_cm_event *event;
	int accepted = 0, established = 0;
	uint16_t port;

	listener = cm_listen_on(channel, "127.0.0.1", BACKLOG, &port);
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	for (int i = 0; i < BACKLOG; i++) {
		ids[accepted++] = cm_take_request(channel, NULL);
		if (i == 0)
			CHECK(test_readable(channel->fd, 0));
	}
	for (int i = 0; i < BACKLOG; i++)
		CHECK(!softverbs_rdma_accept(ids[i], &param));
	while (established < CLIENTS) {
		CHECK(test_readable(channel->fd, EVENT_WAIT_MS));
		CHECK(!softverbs_rdma_get_cm_event(channel, &event));
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			ids[accepted] = event->id;
			cm_add_qp(ids[accepted]);
			CHECK(!softverbs_rdma_accept(ids[accepted++], &param));
		} else {
			CHECK_EQUAL(event->event, RDMA_CM_EVENT_ESTABLISHED);
			established++;
		}
		CHECK(!softverbs_rdma_ack_cm_event(event));
	}
	CHECK_EQUAL(accepted, CLIENTS);
	test_signal(peer.fd);
	for (int i = 0; i < CLIENTS; i++)
		cm_close(ids[i]);
	test_join_peer(&peer);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thousand connects at once of a process that answers slowly, many more than may be in the handshake at a time: all of them
 * are established.
 */
#include "cm_fixture.h"
#include "descriptors.h"

/* An id that connects has a socket of its own and one of the link. */
enum { CONNECTS = 1000, DESCRIPTORS = 2 * CONNECTS + 100, ANY_QP = 1 };

static struct rdma_cm_id *ids[CONNECTS];

/* The queue pairs are the application's own business, as in DiSNI: here there are none. */
static struct rdma_conn_param param(void)
{
	struct rdma_conn_param param = cm_param(NULL, 0);

	param.qp_num = ANY_QP;
	return param;
}

static void connect_all(int fd)
{
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param own = param();

	for (int i = 0; i < CONNECTS; i++) {
		ids[i] = cm_id_open(channel);
		cm_resolve(ids[i], CM_LOOPBACK, port);
	}
	for (int i = 0; i < CONNECTS; i++)
		CHECK(!softverbs_rdma_connect(ids[i], &own));
	for (int i = 0; i < CONNECTS; i++)
		CHECK(!softverbs_rdma_establish(cm_take_id(channel, RDMA_CM_EVENT_CONNECT_RESPONSE)));
	test_await(fd);
	for (int i = 0; i < CONNECTS; i++)
		CHECK(!softverbs_rdma_destroy_id(ids[i]));
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct rdma_event_channel *channel;
	struct rdma_conn_param own = param();
	struct rdma_cm_id *listener, *id;
	int established = 0, accepted = 0;
	struct test_peer peer;

	allow_descriptors(DESCRIPTORS);
	CHECK(!setenv("SOFTVERBS_FAULT", "link:kind=CM,delay=300,count=all", 1)); /* in the child of the fork only */
	peer = test_start_peer(connect_all);
	channel = cm_channel_open();
	listener = cm_listen_for(peer.fd, channel, CONNECTS);
	while (established < CONNECTS) {
		if (cm_next(channel, &id) == RDMA_CM_EVENT_ESTABLISHED) {
			established++;
			continue;
		}
		CHECK(accepted < CONNECTS);
		CHECK(!softverbs_rdma_accept(id, &own));
		ids[accepted++] = id;
	}
	test_signal(peer.fd);
	for (int i = 0; i < CONNECTS; i++)
		CHECK(!softverbs_rdma_destroy_id(ids[i]));
	test_join_peer(&peer);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

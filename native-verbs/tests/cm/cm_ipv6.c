/* SPDX-License-Identifier: Apache-2.0 */
/* A listener on :: takes IPv6 and IPv4 connections; each id shows the address that was used. */
#include "cm_fixture.h"

static void client(int fd)
{
	static const char *const addresses[] = {"::1", CM_LOOPBACK};
	uint16_t port = cm_receive_port(fd);
	struct rdma_event_channel *channel = cm_channel_open();

	for (int i = 0; i < 2; i++) {
		struct rdma_cm_id *id = cm_connect_to(channel, addresses[i], port);

		test_await(fd);
		cm_close(id);
	}
	softverbs_rdma_destroy_event_channel(channel);
}

/* The next connection, by the address that `local` then is; ended by the client. */
static void serve(struct test_peer *peer, struct rdma_event_channel *channel, struct sockaddr_storage *local, int family)
{
	struct rdma_cm_id *id = cm_accept_from(channel);

	*local = id->route.addr.src_storage;
	CHECK_EQUAL(local->ss_family, family);
	CHECK_EQUAL(rdma_get_peer_addr(id)->sa_family, family);
	test_signal(peer->fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct sockaddr_storage loopback = cm_address("::1", 0), local;
	const struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&local;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct rdma_cm_id *listener;
	uint16_t port;

	if (fd < 0 || bind(fd, (struct sockaddr *)&loopback, sizeof(struct sockaddr_in6)))
		test_skip("this host has no ::1");
	close(fd);
	listener = cm_listen_on(channel, "::", 8, &port);
	test_send(peer.fd, &port, sizeof(port));
	serve(&peer, channel, &local, AF_INET6);
	CHECK(IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
	CHECK_EQUAL(v6->sin6_port, port);
	serve(&peer, channel, &local, AF_INET);
	CHECK_EQUAL(((struct sockaddr_in *)&local)->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	test_join_peer(&peer);
	cm_close_all(channel, listener);
}

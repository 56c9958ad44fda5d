/* SPDX-License-Identifier: Apache-2.0 */
/* A listener on :: takes IPv6 and IPv4 connections; each id shows the address that was used. */
#include "cm_fixture.h"

static void client(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id;
	uint16_t port;

	test_receive(fd, &port, sizeof(port));
	id = cm_connect_to(channel, "::1", port);
	test_await(fd);
	cm_close(id);
	id = cm_connect_to(channel, "127.0.0.1", port);
	test_await(fd);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener, *id;
	const struct sockaddr_in6 *v6;
	const struct sockaddr_in *v4;
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_storage loopback = cm_address("::1", 0);
	uint16_t port;

	if (fd < 0 || bind(fd, (struct sockaddr *)&loopback, sizeof(struct sockaddr_in6)))
		test_skip("this host has no ::1");
	close(fd);
	listener = cm_listen_on(channel, "::", 8, &port);
	test_send(peer.fd, &port, sizeof(port));

	id = cm_accept_from(channel);
	v6 = (struct sockaddr_in6 *)rdma_get_local_addr(id);
	CHECK_EQUAL(v6->sin6_family, AF_INET6);
	CHECK(IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr));
	CHECK_EQUAL(v6->sin6_port, port);
	CHECK_EQUAL(rdma_get_peer_addr(id)->sa_family, AF_INET6);
	test_signal(peer.fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);

	id = cm_accept_from(channel);
	v4 = (struct sockaddr_in *)rdma_get_local_addr(id);
	CHECK_EQUAL(v4->sin_family, AF_INET);
	CHECK_EQUAL(v4->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	test_signal(peer.fd);
	cm_take(channel, RDMA_CM_EVENT_DISCONNECTED);
	cm_close(id);

	test_join_peer(&peer);
	cm_close(listener);
	softverbs_rdma_destroy_event_channel(channel);
}

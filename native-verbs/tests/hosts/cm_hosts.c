/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_cm between two hosts: connections over IPv4, IPv6 and link-local IPv6, whose sends cross the link; nobody at that
 * port is REJECTED, no route an error at once; the end of one side is DISCONNECTED.
 */
#define _GNU_SOURCE
#include "cm_fixture.h"
#include "hosts_fixture.h"
#include "softdev_fixture.h"

#include <net/if.h>

enum { LENGTH = 1 << 20, NO_LISTENER = 8 };

static struct sockaddr_storage on_link(const char *text, uint16_t port)
{
	struct sockaddr_storage address = cm_address(text, port);

	if (!strncmp(text, "fe80", 4))
		((struct sockaddr_in6 *)&address)->sin6_scope_id = if_nametoindex("wire");
	return address;
}

static void serve_at(int fd, const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener = cm_id_open(channel), *id;
	struct sockaddr_storage address = on_link(text, 0);
	struct rdma_conn_param param = cm_param("welcome", 8);
	struct region region;
	uint8_t data[56];
	uint16_t port;

	CHECK(!softverbs_rdma_bind_addr(listener, (struct sockaddr *)&address));
	CHECK(!softverbs_rdma_listen(listener, 8));
	port = softverbs_rdma_get_src_port(listener);
	test_send(fd, &port, sizeof(port));
	id = cm_take_request(channel, data);
	CHECK(!strcmp((char *)data, "hello"));
	if (!strncmp(text, "fe80", 4)) /* the peer's address is of use only with its link */
		CHECK_EQUAL(id->route.addr.dst_sin6.sin6_scope_id, if_nametoindex("wire"));
	region = create_region(id->pd, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQUAL(post_receive(id->qp, 1, sge_of(&region, 0, LENGTH)), 0);
	CHECK(!softverbs_rdma_accept(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(expect_completion(id->recv_cq, 1, IBV_WC_SUCCESS).byte_len, LENGTH);
	CHECK(region.bytes[0] == 1 && region.bytes[LENGTH - 1] == 2);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	destroy_region(&region);
	cm_close_all(channel, id, listener);
}

static void serve(int fd)
{
	serve_at(fd, HOST_1_V4);
	serve_at(fd, HOST_1_V6);
	serve_at(fd, HOST_1_LINK_LOCAL);
	test_await(fd);
}

static void connect_to(int fd, const char *own, const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_conn_param param = cm_param("hello", 6);
	struct sockaddr_storage address = on_link(text, cm_receive_port(fd)), expected = cm_address(own, 0);
	struct rdma_cm_event *event;
	struct region region;
	uint64_t before;

	cm_resolve_address(id, &address);
	if (expected.ss_family == AF_INET6)
		CHECK(!memcmp(&id->route.addr.src_sin6.sin6_addr, &((struct sockaddr_in6 *)&expected)->sin6_addr, 16));
	else
		CHECK(!memcmp(&id->route.addr.src_sin.sin_addr, &((struct sockaddr_in *)&expected)->sin_addr, 4));
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(!strcmp(event->param.conn.private_data, "welcome"));
	CHECK(!softverbs_rdma_ack_cm_event(event));
	region = create_region(id->pd, LENGTH, 0);
	region.bytes[0] = 1;
	region.bytes[LENGTH - 1] = 2;
	before = hosts_link_bytes();
	CHECK_EQUAL(post(id->qp, IBV_WR_SEND, 1, sge_of(&region, 0, LENGTH), 0, 0), 0);
	expect_completion(id->send_cq, 1, IBV_WC_SUCCESS);
	CHECK(hosts_link_bytes() - before >= LENGTH);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	destroy_region(&region);
	cm_close_all(channel, id);
}

static void expect_errors(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct sockaddr_storage address = cm_address("10.99.0.1", htons(7471));

	CHECK_EQUAL(cm_refusal_of(channel, HOST_1_V4, htons(7471), RDMA_CM_EVENT_REJECTED), NO_LISTENER);
	CHECK_EQUAL(cm_refusal_of(channel, HOST_1_V6, htons(7471), RDMA_CM_EVENT_REJECTED), NO_LISTENER);
	CHECK_FAILS(softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000), ENETUNREACH);
	cm_close_all(channel, id);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);

	connect_to(peer.fd, HOST_0_V4, HOST_1_V4);
	connect_to(peer.fd, HOST_0_V6, HOST_1_V6);
	connect_to(peer.fd, HOST_0_LINK_LOCAL, HOST_1_LINK_LOCAL);
	expect_errors();
	test_finish_peer(&peer);
}

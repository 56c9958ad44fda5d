/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rdma_cm between two hosts: connections over IPv4, IPv6 and link-local IPv6, whose sends cross the link; nobody at that
 * port is REJECTED, no route an error at once; the end of one side is DISCONNECTED.
 */
#define _GNU_SOURCE
#include "cm_fixture.h"
#include "hosts_fixture.h"
#include "softverbs.h"

#include <net/if.h>

enum { LENGTH = 1 << 20, NO_LISTENER = 8 };

static struct sockaddr_storage on_link(const char *text, uint16_t port)
{
	struct sockaddr_storage address = cm_address(text, port);

	if (!strncmp(text, "fe80", 4))
		((struct sockaddr_in6 *)&address)->sin6_scope_id = if_nametoindex("wire");
	return address;
}

static struct ibv_wc next_completion(struct ibv_cq *cq)
{
	uint64_t deadline = test_now_ms() + EVENT_WAIT_MS;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc)) {
		CHECK(test_now_ms() < deadline);
		usleep(100);
	}
	CHECK_EQUAL(wc.status, IBV_WC_SUCCESS);
	return wc;
}

static void serve_at(int fd, const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener = cm_id_open(channel), *id;
	struct sockaddr_storage address = on_link(text, 0);
	struct rdma_conn_param param = cm_param("welcome", 8);
	struct ibv_recv_wr *bad, wr = {.num_sge = 1};
	uint8_t *bytes = calloc(1, LENGTH);
	struct ibv_sge sge;
	struct ibv_mr *mr;
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
	mr = softverbs_ibv_reg_mr(id->pd, bytes, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr);
	sge = (struct ibv_sge){(uintptr_t)bytes, LENGTH, mr->lkey};
	wr.sg_list = &sge;
	CHECK(!ibv_post_recv(id->qp, &wr, &bad));
	CHECK(!softverbs_rdma_accept(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	CHECK_EQUAL(next_completion(id->recv_cq).byte_len, LENGTH);
	CHECK(bytes[0] == 1 && bytes[LENGTH - 1] == 2);
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	CHECK(!softverbs_ibv_dereg_mr(mr));
	cm_close(id);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
	free(bytes);
}

static void serve(int fd)
{
	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	serve_at(fd, HOST_1_V4);
	serve_at(fd, HOST_1_V6);
	serve_at(fd, HOST_1_LINK_LOCAL);
	test_await(fd);
}

static void resolve(struct rdma_cm_id *id, const char *text, uint16_t port)
{
	struct sockaddr_storage address = on_link(text, port);

	CHECK(!softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000));
	CHECK_EQUAL(cm_take(id->channel, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	CHECK(!softverbs_rdma_resolve_route(id, 1000));
	CHECK_EQUAL(cm_take(id->channel, RDMA_CM_EVENT_ROUTE_RESOLVED), 0);
}

static void connect_to(int fd, const char *own, const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_conn_param param = cm_param("hello", 6);
	struct ibv_send_wr *bad, wr = {.num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
	uint8_t *bytes = calloc(1, LENGTH);
	uint8_t expected[16];
	const void *actual;
	struct rdma_cm_event *event;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	uint16_t port;
	uint64_t before;

	test_receive(fd, &port, sizeof(port));
	resolve(id, text, port);
	CHECK_EQUAL(inet_pton(strchr(own, ':') ? AF_INET6 : AF_INET, own, expected), 1);
	actual = &id->route.addr.src_sin.sin_addr;
	if (strchr(own, ':'))
		actual = &id->route.addr.src_sin6.sin6_addr;
	CHECK(!memcmp(actual, expected, strchr(own, ':') ? 16 : 4));
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	event = cm_expect(channel, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(!strcmp(event->param.conn.private_data, "welcome"));
	CHECK(!softverbs_rdma_ack_cm_event(event));
	bytes[0] = 1;
	bytes[LENGTH - 1] = 2;
	mr = softverbs_ibv_reg_mr(id->pd, bytes, LENGTH, 0);
	CHECK(mr);
	sge = (struct ibv_sge){(uintptr_t)bytes, LENGTH, mr->lkey};
	wr.sg_list = &sge;
	before = hosts_link_bytes();
	CHECK(!ibv_post_send(id->qp, &wr, &bad));
	next_completion(id->send_cq);
	CHECK(hosts_link_bytes() - before >= LENGTH);
	CHECK(!softverbs_rdma_disconnect(id));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_DISCONNECTED), 0);
	CHECK(!softverbs_ibv_dereg_mr(mr));
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
	free(bytes);
}

static void expect_rejected(const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct rdma_conn_param param = cm_param(NULL, 0);

	resolve(id, text, htons(7471));
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_REJECTED), NO_LISTENER);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

static void expect_no_route(const char *text)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *id = cm_id_open(channel);
	struct sockaddr_storage address = cm_address(text, htons(7471));

	CHECK_EQUAL(softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&address, 1000), -1);
	CHECK_EQUAL(errno, ENETUNREACH);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

int main(void)
{
	struct test_peer peer = hosts_start(serve);

	setenv("SOFTVERBS_SECRET", HOST_SECRET, 1);
	connect_to(peer.fd, HOST_0_V4, HOST_1_V4);
	connect_to(peer.fd, HOST_0_V6, HOST_1_V6);
	connect_to(peer.fd, HOST_0_LINK_LOCAL, HOST_1_LINK_LOCAL);
	expect_rejected(HOST_1_V4);
	expect_rejected(HOST_1_V6);
	expect_no_route("10.99.0.1");
	test_signal(peer.fd);
	test_join_peer(&peer);
}

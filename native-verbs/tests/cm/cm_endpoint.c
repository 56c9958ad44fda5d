/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_getaddrinfo, rdma_create_ep and rdma_get_request: synchronous ids from names to an ended connection. */
#include "cm_fixture.h"

#include <ifaddrs.h>
#include <net/if.h>

static struct ibv_qp_init_attr queue_pair(void)
{
	return (struct ibv_qp_init_attr){
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.sq_sig_all = 1,
	};
}

/* Hints with an address and no names: libfabric asks in this way. */
static void resolves_the_hints_address(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rdma_addrinfo hints = {
		.ai_port_space = RDMA_PS_TCP, .ai_dst_addr = (struct sockaddr *)&to, .ai_dst_len = sizeof(to)};
	struct rdma_addrinfo *found;

	CHECK(!softverbs_rdma_getaddrinfo(NULL, NULL, &hints, &found));
	CHECK_EQUAL(found->ai_family, AF_INET);
	CHECK(!memcmp(found->ai_dst_addr, &to, sizeof(to)));
	CHECK(found->ai_src_addr);
	softverbs_rdma_freeaddrinfo(found);
}

static void client(int fd)
{
	struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr attr = queue_pair();
	struct rdma_conn_param param = cm_param("hello", 5);
	struct rdma_cm_id *id;
	char service[8];

	snprintf(service, sizeof(service), "%d", ntohs(cm_receive_port(fd)));
	CHECK(!softverbs_rdma_getaddrinfo("127.0.0.1", service, &hints, &found));
	CHECK_EQUAL(found->ai_qp_type, IBV_QPT_RC);
	CHECK_EQUAL(found->ai_family, AF_INET);
	CHECK(found->ai_src_addr && found->ai_dst_addr);
	CHECK(!softverbs_rdma_create_ep(&id, found, NULL, &attr));
	softverbs_rdma_freeaddrinfo(found);
	CHECK(id->qp && id->send_cq && id->recv_cq && id->pd);
	CHECK(!softverbs_rdma_connect(id, &param));
	CHECK_EQUAL(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(!memcmp(id->event->param.conn.private_data, "welcome", 7));
	CHECK(!softverbs_rdma_disconnect(id));
	softverbs_rdma_destroy_ep(id);
}

/* Bound to a loopback address they have none: nor a device. */
static void listenersKeepTheDefaultDomain(void)
{
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr attr = queue_pair();
	struct ifaddrs *list, *entry;
	struct rdma_cm_id *listener;
	char text[INET_ADDRSTRLEN];

	CHECK(!getifaddrs(&list));
	for (entry = list; entry; entry = entry->ifa_next)
		if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && !(entry->ifa_flags & IFF_LOOPBACK))
			break;
	if (entry) {
		CHECK(inet_ntop(AF_INET, &((struct sockaddr_in *)entry->ifa_addr)->sin_addr, text, sizeof(text)));
		CHECK(!softverbs_rdma_getaddrinfo(text, "0", &hints, &found));
		CHECK(!softverbs_rdma_create_ep(&listener, found, NULL, &attr));
		CHECK(listener->verbs && listener->pd);
		softverbs_rdma_freeaddrinfo(found);
		softverbs_rdma_destroy_ep(listener);
	}
	freeifaddrs(list);
}

int main(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_addrinfo hints = {.ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_TCP}, *found;
	struct ibv_qp_init_attr attr = queue_pair();
	struct rdma_conn_param param = cm_param("welcome", 7);
	struct rdma_cm_id *listener, *id;
	uint16_t port;

	resolves_the_hints_address();
	listenersKeepTheDefaultDomain();
	CHECK(softverbs_rdma_getaddrinfo(NULL, NULL, &hints, &found));
	CHECK(softverbs_rdma_getaddrinfo("no.such.host.invalid.", NULL, &hints, &found));
	CHECK(!softverbs_rdma_getaddrinfo("127.0.0.1", "0", &hints, &found));
	CHECK(!softverbs_rdma_create_ep(&listener, found, NULL, &attr));
	softverbs_rdma_freeaddrinfo(found);
	CHECK(!softverbs_rdma_listen(listener, 0));
	port = softverbs_rdma_get_src_port(listener);
	test_send(peer.fd, &port, sizeof(port));
	CHECK(!softverbs_rdma_get_request(listener, &id));
	CHECK(!memcmp(id->event->param.conn.private_data, "hello", 5));
	CHECK(id->qp && id->send_cq && id->recv_cq);
	CHECK(!softverbs_rdma_accept(id, &param));
	CHECK_EQUAL(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	CHECK(!softverbs_rdma_disconnect(id));
	softverbs_rdma_destroy_ep(id);
	test_join_peer(&peer);
	softverbs_rdma_destroy_ep(listener);
}

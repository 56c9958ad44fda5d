/* SPDX-License-Identifier: Apache-2.0 */
/* rdma_getaddrinfo: what each hint changes, which end of the result is filled, and its errors. */
#include "cm_fixture.h"

#include <netdb.h>

static struct rdma_addrinfo *found_for(const char *node, const char *service, struct rdma_addrinfo hints)
{
	struct rdma_addrinfo *found;

	CHECK_EQUAL(softverbs_rdma_getaddrinfo(node, service, &hints, &found), 0);
	CHECK(!found->ai_next && !found->ai_route_len && !found->ai_connect_len);
	return found;
}

static int error_for(const char *node, const char *service, struct rdma_addrinfo hints)
{
	struct rdma_addrinfo *found;

	return softverbs_rdma_getaddrinfo(node, service, &hints, &found);
}

static uint16_t port_of(const struct sockaddr *address)
{
	return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

int main(void)
{
	struct sockaddr_storage here = cm_address("127.0.0.1", htons(7)), there = cm_address("::1", htons(8));
	struct rdma_addrinfo *found;

	found = found_for("127.0.0.1", "4711", (struct rdma_addrinfo){0});
	CHECK_EQUAL(found->ai_qp_type, IBV_QPT_RC);
	CHECK_EQUAL(found->ai_port_space, RDMA_PS_TCP);
	CHECK_EQUAL(found->ai_family, AF_INET);
	CHECK_EQUAL(port_of(found->ai_dst_addr), 4711);
	CHECK_EQUAL(found->ai_dst_len, sizeof(struct sockaddr_in));
	CHECK(found->ai_src_addr && !port_of(found->ai_src_addr));
	softverbs_rdma_freeaddrinfo(found);

	found = found_for("::1", "4711",
			  (struct rdma_addrinfo){.ai_flags = RAI_NOROUTE, .ai_qp_type = IBV_QPT_UD});
	CHECK_EQUAL(found->ai_port_space, RDMA_PS_UDP);
	CHECK_EQUAL(found->ai_family, AF_INET6);
	CHECK(!found->ai_src_addr && !found->ai_src_len);
	softverbs_rdma_freeaddrinfo(found);

	found = found_for(NULL, "4711",
			  (struct rdma_addrinfo){.ai_flags = RAI_PASSIVE | RAI_FAMILY,
						 .ai_family = AF_INET6,
						 .ai_port_space = RDMA_PS_UDP});
	CHECK_EQUAL(found->ai_qp_type, IBV_QPT_UD);
	CHECK(!found->ai_dst_addr && !found->ai_dst_len);
	CHECK_EQUAL(found->ai_src_addr->sa_family, AF_INET6);
	CHECK_EQUAL(port_of(found->ai_src_addr), 4711);
	softverbs_rdma_freeaddrinfo(found);

	/* Addresses of the hints: for what no name tells. */
	found = found_for("127.0.0.1", "1", (struct rdma_addrinfo){.ai_src_addr = (struct sockaddr *)&here,
								   .ai_src_len = sizeof(struct sockaddr_in)});
	CHECK_EQUAL(port_of(found->ai_src_addr), 7);
	softverbs_rdma_freeaddrinfo(found);
	found = found_for(NULL, NULL, (struct rdma_addrinfo){.ai_dst_addr = (struct sockaddr *)&there,
							     .ai_dst_len = sizeof(struct sockaddr_in6)});
	CHECK_EQUAL(found->ai_family, AF_INET6);
	CHECK_EQUAL(port_of(found->ai_dst_addr), 8);
	CHECK(found->ai_src_addr);
	softverbs_rdma_freeaddrinfo(found);
	found = found_for("localhost", NULL, (struct rdma_addrinfo){.ai_flags = RAI_FAMILY, .ai_family = AF_INET});
	CHECK_EQUAL(found->ai_family, AF_INET);
	softverbs_rdma_freeaddrinfo(found);

	CHECK_FAILS(softverbs_rdma_getaddrinfo(NULL, NULL, NULL, &found), EINVAL);
	CHECK_EQUAL(error_for(NULL, NULL, (struct rdma_addrinfo){0}), EAI_NONAME);
	CHECK_EQUAL(error_for("localhost", NULL, (struct rdma_addrinfo){.ai_flags = RAI_NUMERICHOST}), EAI_NONAME);
	CHECK(error_for("::1", NULL, (struct rdma_addrinfo){.ai_flags = RAI_FAMILY, .ai_family = AF_INET}));
	CHECK(error_for("127.0.0.1", "no-such-service", (struct rdma_addrinfo){0}));
	CHECK_EQUAL(error_for("127.0.0.1", "1",
			      (struct rdma_addrinfo){.ai_flags = RAI_FAMILY, .ai_family = AF_UNIX}),
		    EAI_FAMILY);
	CHECK(error_for("127.0.0.1", "1",
			(struct rdma_addrinfo){.ai_qp_type = IBV_QPT_UD, .ai_port_space = RDMA_PS_TCP}));
}

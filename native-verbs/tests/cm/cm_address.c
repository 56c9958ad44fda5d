/* SPDX-License-Identifier: Apache-2.0 */
/* Ports and addresses of ids: free ports, ports in use, sharing, IPv6, addresses that are not this host's. */
#include "cm_fixture.h"

static int bind_to(struct rdma_event_channel *channel, const char *text, uint16_t port, bool share)
{
	struct sockaddr_storage address = cm_address(text, port);
	struct rdma_cm_id *id = cm_id_open(channel);
	int on = share, error;

	CHECK(!softverbs_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, sizeof(on)));
	error = softverbs_rdma_bind_addr(id, (struct sockaddr *)&address) ? errno : 0;
	if (!error && softverbs_rdma_listen(id, 1))
		error = errno;
	CHECK(!softverbs_rdma_destroy_id(id));
	return error;
}

static void resolve_errors(struct rdma_event_channel *channel)
{
	struct sockaddr_storage foreign = cm_address("192.0.2.1", 0);
	struct sockaddr_storage local = cm_address("127.0.0.1", htons(4000));
	struct sockaddr_storage v6 = cm_address("::1", htons(4000));
	struct sockaddr unknown = {.sa_family = AF_UNIX};
	struct rdma_cm_id *id = cm_id_open(channel);

	CHECK_FAILS(softverbs_rdma_bind_addr(id, &unknown), EINVAL);
	CHECK_FAILS(softverbs_rdma_resolve_addr(id, (struct sockaddr *)&foreign, (struct sockaddr *)&local, 1000),
		    EADDRNOTAVAIL);
	CHECK_FAILS(softverbs_rdma_resolve_route(id, 1000), EINVAL);
	CHECK_FAILS(softverbs_rdma_connect(id, NULL), EINVAL);
	local = cm_address("127.0.0.1", 0);
	CHECK(!softverbs_rdma_bind_addr(id, (struct sockaddr *)&local));
	CHECK_FAILS(softverbs_rdma_resolve_addr(id, NULL, (struct sockaddr *)&v6, 1000), EINVAL);
	CHECK(!softverbs_rdma_destroy_id(id));
}

static void active_ids_have_ports(struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = cm_id_open(channel);
	const struct sockaddr_in *local = (struct sockaddr_in *)rdma_get_local_addr(id);

	CHECK_EQUAL(softverbs_rdma_get_src_port(id), 0);
	cm_resolve(id, "0.0.0.0", htons(4000)); /* the wildcard means this host */
	CHECK(softverbs_rdma_get_src_port(id));
	CHECK_EQUAL(softverbs_rdma_get_dst_port(id), htons(4000));
	CHECK_EQUAL(local->sin_addr.s_addr, htonl(INADDR_LOOPBACK));
	CHECK(id->verbs);
	CHECK_EQUAL(id->port_num, 1);
	CHECK_EQUAL(id->route.num_paths, 1);
	CHECK(!softverbs_rdma_destroy_id(id));
}

int main(void)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener;
	uint16_t port;

	alarm(TEST_SECONDS);
	listener = cm_listen_on(channel, "127.0.0.1", 1, &port);
	CHECK(!listener->verbs && !listener->pd); /* loopback is no address of a device */
	CHECK_EQUAL(bind_to(channel, "127.0.0.1", port, false), EADDRINUSE);
	CHECK_EQUAL(bind_to(channel, "0.0.0.0", port, false), EADDRINUSE);
	CHECK_EQUAL(bind_to(channel, "127.0.0.2", port, false), 0);
	CHECK_EQUAL(bind_to(channel, "192.0.2.1", 0, false), EADDRNOTAVAIL);
	CHECK(!softverbs_rdma_destroy_id(listener));
	CHECK_EQUAL(bind_to(channel, "127.0.0.1", port, false), 0);
	resolve_errors(channel);
	active_ids_have_ports(channel);
	softverbs_rdma_destroy_event_channel(channel);
}

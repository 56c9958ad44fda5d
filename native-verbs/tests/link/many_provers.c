/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that accepts the secret of an application connects back to one that has proved it, however many links another
 * process of that application has opened since.
 */
#include "cm_fixture.h"
#include "offer.h"

enum { AT_ONCE = 8, LINKS = 525 * AT_ONCE, BYTES = 64 };

static const char own[] = "the secret of the server", accepted[] = "that of an application";

static void prove_often(int fd)
{
	struct rdma_event_channel *channel;
	uint16_t port;

	CHECK_EQUAL(softverbs_set_secret(accepted, strlen(accepted)), 0);
	port = cm_receive_port(fd);
	channel = cm_channel_open();
	for (int links = 0; links < LINKS; links += AT_ONCE) {
		struct rdma_conn_param param = cm_param(NULL, 0);
		struct rdma_cm_id *ids[AT_ONCE];

		param.qp_num = 1;
		for (int i = 0; i < AT_ONCE; i++) {
			ids[i] = cm_id_open(channel);
			cm_resolve(ids[i], CM_LOOPBACK, port);
		}
		for (int i = 0; i < AT_ONCE; i++)
			CHECK(!softverbs_rdma_connect(ids[i], &param));
		for (int i = 0; i < AT_ONCE; i++)
			cm_take(channel, RDMA_CM_EVENT_REJECTED);
		for (int i = 0; i < AT_ONCE; i++)
			CHECK(!softverbs_rdma_destroy_id(ids[i]));
	}
	softverbs_rdma_destroy_event_channel(channel);
}

/* Proves the secret by its first connection, and over the second one it only receives. */
static void prove_once(int fd)
{
	struct address address;
	struct region *region;
	struct side first, second;

	CHECK_EQUAL(softverbs_set_secret(accepted, strlen(accepted)), 0);
	open_side(&first, 16, 16);
	connect_over(fd, &first, NULL);
	region = add_region(&first, BYTES, ALL_REMOTE);
	CHECK_EQUAL(post(first.qp, IBV_WR_SEND, 1, sge_of(region, 0, BYTES), 0, 0), 0);
	expect_completion(first.cq, 1, IBV_WC_SUCCESS);
	open_side(&second, 16, 16);
	address = address_of(&second);
	test_send(fd, &address, sizeof(address));
	test_receive(fd, &address, sizeof(address));
	to_init(second.qp, ALL_REMOTE);
	to_rtr(second.qp, &address, &(struct connection){0});
	region = add_region(&second, BYTES, ALL_REMOTE);
	CHECK_EQUAL(post_receive(second.qp, 2, sge_of(region, 0, BYTES)), 0);
	test_signal(fd);
	expect_completion(second.cq, 2, IBV_WC_SUCCESS);
	test_await(fd);
	close_side(&second);
	close_side(&first);
}

static void serve(void)
{
	struct test_peer crowd = test_start_peer(prove_often), peer = test_start_peer(prove_once);
	struct rdma_event_channel *channel;
	struct address address, there;
	struct rdma_cm_id *listener;
	struct region *region;
	struct side first, second;

	CHECK_EQUAL(softverbs_set_secret(own, strlen(own)), 0);
	CHECK_EQUAL(softverbs_accept_secret(accepted, strlen(accepted)), 0);
	channel = cm_channel_open();
	open_side(&first, 16, 16);
	region = add_region(&first, BYTES, ALL_REMOTE);
	connect_over(peer.fd, &first, NULL);
	CHECK_EQUAL(post_receive(first.qp, 1, sge_of(region, 0, BYTES)), 0);
	expect_completion(first.cq, 1, IBV_WC_SUCCESS);
	test_receive(peer.fd, &there, sizeof(there));
	listener = cm_listen_for(crowd.fd, channel, AT_ONCE);
	for (int i = 0; i < LINKS; i++) {
		struct rdma_cm_id *id = cm_take_id(channel, RDMA_CM_EVENT_CONNECT_REQUEST);

		CHECK(!softverbs_rdma_reject(id, NULL, 0));
		CHECK(!softverbs_rdma_destroy_id(id));
	}
	test_join_peer(&crowd);
	open_side(&second, 16, 16);
	address = address_of(&second);
	test_send(peer.fd, &address, sizeof(address));
	test_await(peer.fd);
	connect_side(&second, &there, NULL);
	region = add_region(&second, BYTES, ALL_REMOTE);
	CHECK_EQUAL(post(second.qp, IBV_WR_SEND, 2, sge_of(region, 0, BYTES), 0, 0), 0);
	expect_completion(second.cq, 2, IBV_WC_SUCCESS);
	test_finish_peer(&peer);
	cm_close_all(channel, listener);
	close_side(&second);
	close_side(&first);
}

MAIN(test_run_apart, serve)

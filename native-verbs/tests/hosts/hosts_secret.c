/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts connect only with the same secret. With another one, or none on either side, requests end in RETRY_EXC_ERR, by
 * rdma_cm UNREACHABLE; a process without a secret says so once, by the name of the setting.
 */
#define _GNU_SOURCE
#include "cm_fixture.h"
#include "softdev_fixture.h"

#include "hosts_fixture.h"

#include <fcntl.h>

static const char *server_secret, *client_secret;
static const struct connection quick = {.timeout = 10, .retry_count = 1};

struct offer {
	struct address address;
	uint64_t addr;
	uint32_t rkey;
	uint16_t cm_port;
};

static void use_secret(const char *secret)
{
	if (secret)
		setenv("SOFTVERBS_SECRET", secret, 1);
}

static void serve(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener;
	struct region region;
	struct side side;
	struct address remote;
	struct offer offer;

	use_secret(server_secret);
	listener = cm_listen_on(channel, "0.0.0.0", 8, &offer.cm_port);
	open_side(&side, 16, 16);
	region = create_region(side.pd, 4096, IBV_ACCESS_REMOTE_READ);
	offer.address = address_of(&side);
	offer.addr = (uintptr_t)region.bytes;
	offer.rkey = region.mr->rkey;
	test_receive(fd, &remote, sizeof(remote));
	connect_side(&side, &remote, &quick);
	test_send(fd, &offer, sizeof(offer));
	test_await(fd);
	CHECK(!test_readable(channel->fd, 0));
	destroy_region(&region);
	close_side(&side);
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

static void expect_unreachable(uint16_t port)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_cm_id *id = cm_id_open(channel);

	cm_resolve(id, HOST_1_V4, port);
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_UNREACHABLE), client_secret ? -ETIMEDOUT : -EACCES);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

/* How many lines of the log speak of it. */
static int lines_with(FILE *log, const char *words)
{
	char line[1024];
	int count = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		count += strstr(line, words) != NULL;
	return count;
}

static void expect_read(enum ibv_wc_status status, int hints)
{
	struct test_peer peer = hosts_start(serve);
	FILE *log = tmpfile();
	int standard_error = dup(STDERR_FILENO);
	struct region sink;
	struct side side;
	struct address own;
	struct offer offer;

	use_secret(client_secret);
	CHECK(log && dup2(fileno(log), STDERR_FILENO) >= 0);
	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	own = address_of(&side);
	test_send(peer.fd, &own, sizeof(own));
	test_receive(peer.fd, &offer, sizeof(offer));
	connect_side(&side, &offer.address, &quick);
	CHECK_EQUAL(post_read(side.qp, 1, &sink, 4096, offer.addr, offer.rkey), 0);
	CHECK_EQUAL(post_read(side.qp, 2, &sink, 4096, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 1, status);
	expect_completion(side.cq, 2, status ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	if (status != IBV_WC_SUCCESS && server_secret)
		expect_unreachable(offer.cm_port);
	CHECK(dup2(standard_error, STDERR_FILENO) >= 0);
	CHECK_EQUAL(lines_with(log, "SOFTVERBS_SECRET"), hints);
	test_signal(peer.fd);
	test_join_peer(&peer);
	destroy_region(&sink);
	close_side(&side);
}

static void equalSecretsRead(void)
{
	server_secret = client_secret = "open sesame, please";
	expect_read(IBV_WC_SUCCESS, 0);
}

static void differentSecretsDoNot(void)
{
	server_secret = "open sesame, please";
	client_secret = "open barley, please";
	expect_read(IBV_WC_RETRY_EXC_ERR, 0);
}

static void aClientWithoutSecretIsToldWhatToSet(void)
{
	server_secret = "open sesame, please";
	expect_read(IBV_WC_RETRY_EXC_ERR, 1);
}

static void aServerWithoutSecretIsNotThere(void)
{
	client_secret = "open sesame, please";
	expect_read(IBV_WC_RETRY_EXC_ERR, 0);
}

int main(void)
{
	static void (*const cases[])(void) = {equalSecretsRead, differentSecretsDoNot,
					      aClientWithoutSecretIsToldWhatToSet,
					      aServerWithoutSecretIsNotThere};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		test_run_apart(cases[i]);
}

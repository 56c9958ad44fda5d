/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts connect only with the same secret, or one that the server accepts beside its own. With another one, or none on either side, requests end in RETRY_EXC_ERR, by
 * rdma_cm UNREACHABLE; a process without a secret says so once, by the name of the setting.
 */
#define _GNU_SOURCE
#include "captured.h"
#include "cm_fixture.h"
#include "hosts_fixture.h"
#include "offer.h"

static const char first[] = "open sesame, please", second[] = "open barley, please";
static const struct connection quick = {.timeout = 10, .retry_count = 1};

/* A client READs from a server on another host; `hints` is how often it is told what to set. Each row is a case. */
static const struct row {
	const char *server_secret, *client_secret, *server_accepts;
	enum ibv_wc_status status;
	int hints;
} rows[] = {
	{first, first, NULL, IBV_WC_SUCCESS, 0},
	{first, second, second, IBV_WC_SUCCESS, 0},
	{first, second, NULL, IBV_WC_RETRY_EXC_ERR, 0},
	{first, NULL, NULL, IBV_WC_RETRY_EXC_ERR, 1},
	{NULL, first, NULL, IBV_WC_RETRY_EXC_ERR, 0},
}, *row = rows;

static void use_secret(const char *secret)
{
	if (secret)
		setenv("SOFTVERBS_SECRET", secret, 1);
	else
		unsetenv("SOFTVERBS_SECRET");
}

static void serve(int fd)
{
	struct rdma_event_channel *channel = cm_channel_open();
	struct rdma_cm_id *listener;
	struct region *region;
	struct side side;
	uint16_t port;

	use_secret(row->server_secret);
	if (row->server_accepts)
		CHECK_EQUAL(softverbs_accept_secret(row->server_accepts, strlen(row->server_accepts)), 0);
	listener = cm_listen_on(channel, "0.0.0.0", 8, &port);
	open_side(&side, 16, 16);
	region = add_region(&side, 4096, IBV_ACCESS_REMOTE_READ);
	offer_region(fd, &side, region, &quick);
	test_send(fd, &port, sizeof(port));
	test_await(fd);
	CHECK(!test_readable(channel->fd, 0));
	close_side(&side);
	cm_close_all(channel, listener);
}

static void expect_unreachable(uint16_t port)
{
	struct rdma_event_channel *channel = cm_channel_open();

	CHECK_EQUAL(cm_refusal_of(channel, HOST_1_V4, port, RDMA_CM_EVENT_UNREACHABLE),
		    row->client_secret ? -ETIMEDOUT : -EACCES);
	softverbs_rdma_destroy_event_channel(channel);
}

static void ask(void)
{
	struct test_peer peer = hosts_start(serve);
	struct capture capture = capture_stderr();
	struct region *sink;
	struct side side;
	struct offer offer;
	uint16_t port;

	use_secret(row->client_secret);
	offer = open_reader(peer.fd, &side, 4096, &quick, &sink);
	port = cm_receive_port(peer.fd);
	for (int i = 1; i <= 2; i++)
		CHECK_EQUAL(post_read(side.qp, i, sink, 4096, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 1, row->status);
	expect_completion(side.cq, 2, row->status ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
	if (row->status != IBV_WC_SUCCESS && row->server_secret)
		expect_unreachable(port);
	end_capture(&capture);
	CHECK_EQUAL(lines_with(capture.log, "SOFTVERBS_SECRET", ""), row->hints);
	fclose(capture.log);
	test_finish_peer(&peer);
	close_side(&side);
}

int main(void)
{
	for (; row < rows + COUNT_OF(rows); row++)
		test_run_apart(ask);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect: peers that know the secret, or one that is accepted, of whatever user; without one, those of the same user. */
#include "offer.h"
#include "users.h"

static const char first[] = "open sesame, please", second[] = "open barley, please";
static const struct connection quick = {.timeout = 10, .retry_count = 1};

/* A client READs from a server; each row is a case. */
static const struct row {
	const char *server_secret, *client_secret, *server_accepts;
	bool client_is_other_user, server_spoils_its_secret;
	enum ibv_wc_status status;
} rows[] = {
	{.server_secret = first, .client_secret = first},
	{.server_secret = first, .client_secret = second, .status = IBV_WC_RETRY_EXC_ERR},
	{.server_secret = first, .status = IBV_WC_RETRY_EXC_ERR},
	{.server_secret = first, .server_accepts = second, .client_secret = second},
	{.server_secret = first, .server_accepts = second, .client_secret = first},
	{.server_secret = second, .server_accepts = second, .client_secret = first, .status = IBV_WC_RETRY_EXC_ERR},
	{.server_spoils_its_secret = true, .status = IBV_WC_RETRY_EXC_ERR},
	{.server_secret = first, .client_secret = first, .client_is_other_user = true},
	{.client_is_other_user = true, .status = IBV_WC_RETRY_EXC_ERR},
}, *row = rows;

static void use_secret(const char *secret)
{
	if (secret)
		CHECK_EQUAL(softverbs_set_secret(secret, strlen(secret)), 0);
}

static void serve(int fd)
{
	struct side side;
	struct region *region;
	struct ibv_context *context = NULL;

	use_secret(row->server_secret);
	if (row->server_accepts)
		CHECK_EQUAL(softverbs_accept_secret(row->server_accepts, strlen(row->server_accepts)), 0);
	if (row->server_spoils_its_secret) { /* after the device has looked at it, before it uses it */
		context = open_device();
		setenv("SOFTVERBS_SECRET", "short", 1);
	}
	open_side(&side, 16, 16);
	region = add_region(&side, 4096, IBV_ACCESS_REMOTE_READ);
	region->bytes[0] = 17;
	offer_region(fd, &side, region, NULL);
	test_await(fd);
	close_side(&side);
	if (context)
		CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static void ask(void)
{
	struct test_peer peer = test_start_peer(serve);
	struct region *sink;
	struct side side;
	struct offer offer;

	if (row->client_is_other_user)
		become_user(NOBODY);
	use_secret(row->client_secret);
	offer = open_reader(peer.fd, &side, 4096, &quick, &sink);
	read_and_expect(&side, 1, sink, 8, offer.addr, offer.rkey, row->status);
	CHECK_EQUAL(sink->bytes[0], row->status == IBV_WC_SUCCESS ? 17 : 0);
	close_side(&side);
	test_finish_peer(&peer);
}

static void secretCannotChangeOnceUsed(void)
{
	struct side side;

	CHECK_EQUAL(softverbs_set_secret("", 0), EINVAL);
	CHECK_EQUAL(softverbs_set_secret(first, 15), EINVAL);
	CHECK_EQUAL(softverbs_set_secret(first, 16), 0);
	open_side(&side, 16, 16);
	connect_side(&side, &(struct address){.qpn = 256, .gid = address_of(&side).gid}, &quick);
	close_side(&side);
	CHECK_EQUAL(softverbs_set_secret(first, 16), 0);
	CHECK_EQUAL(softverbs_set_secret(second, 16), EBUSY);
}

int main(void)
{
	for (; row < rows + COUNT_OF(rows); row++)
		if (!row->client_is_other_user || !getuid())
			test_run_apart(ask);
	test_run_apart(secretCannotChangeOnceUsed);
}

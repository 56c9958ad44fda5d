/* SPDX-License-Identifier: Apache-2.0 */
/* Who may connect: peers that know the secret, of whatever user; without one, peers of the same user only. */
#include "offer.h"

enum { NOBODY = 65534 };

static const struct connection quick = {.timeout = 10, .retry_count = 1};

static const char *server_secret, *client_secret;
static bool client_is_other_user, server_spoils_its_secret;

static void use_secret(const char *secret)
{
	if (!secret)
		return;
	CHECK_EQUAL(softverbs_set_secret(secret, strlen(secret)), 0);
}

static void serve(int fd)
{
	struct side side;
	struct region region;
	struct ibv_context *context = NULL;

	use_secret(server_secret);
	if (server_spoils_its_secret) { /* after the device has looked at it, before it uses it */
		context = open_device();
		setenv("SOFTVERBS_SECRET", "short", 1);
	}
	open_side(&side, 16, 16);
	region = create_region(side.pd, 4096, IBV_ACCESS_REMOTE_READ);
	region.bytes[0] = 17;
	offer_region(fd, &side, &region, NULL);
	test_await(fd);
	destroy_region(&region);
	close_side(&side);
	if (context)
		CHECK_EQUAL(softverbs_ibv_close_device(context), 0);
}

static void expect_read(enum ibv_wc_status status)
{
	struct test_peer peer = test_start_peer(serve);
	struct region sink;
	struct side side;
	struct offer offer;

	if (client_is_other_user)
		CHECK(!setgid(NOBODY) && !setuid(NOBODY));
	use_secret(client_secret);
	open_side(&side, 16, 16);
	sink = create_region(side.pd, 4096, IBV_ACCESS_LOCAL_WRITE);
	offer = accept_offer(peer.fd, &side, &quick);
	CHECK_EQUAL(post_read(side.qp, 1, &sink, 8, offer.addr, offer.rkey), 0);
	expect_completion(side.cq, 1, status);
	if (status == IBV_WC_SUCCESS)
		CHECK_EQUAL(sink.bytes[0], 17);
	destroy_region(&sink);
	close_side(&side);
	test_signal(peer.fd);
	test_join_peer(&peer);
}

static void equalSecretsConnect(void)
{
	server_secret = client_secret = "open sesame, please";
	expect_read(IBV_WC_SUCCESS);
}

static void differentSecretsDoNot(void)
{
	server_secret = "open sesame, please";
	client_secret = "open barley, please";
	expect_read(IBV_WC_RETRY_EXC_ERR);
}

static void oneSecretDoesNot(void)
{
	server_secret = "open sesame, please";
	expect_read(IBV_WC_RETRY_EXC_ERR);
}

static void anotherUserNeedsTheSecret(void)
{
	client_is_other_user = true;
	expect_read(IBV_WC_RETRY_EXC_ERR);
}

static void anotherUserWithTheSecretConnects(void)
{
	client_is_other_user = true;
	server_secret = client_secret = "open sesame, please";
	expect_read(IBV_WC_SUCCESS);
}

static void aSecretThatCannotBeUsedLetsNobodyIn(void)
{
	server_spoils_its_secret = true;
	expect_read(IBV_WC_RETRY_EXC_ERR);
}

static void secretCannotChangeOnceUsed(void)
{
	static const char first[] = "the first secret", other[] = "the other secret";
	struct side side;

	CHECK_EQUAL(softverbs_set_secret("", 0), EINVAL);
	CHECK_EQUAL(softverbs_set_secret(first, 15), EINVAL);
	CHECK_EQUAL(softverbs_set_secret(first, 16), 0);
	open_side(&side, 16, 16);
	connect_side(&side, &(struct address){.qpn = 256, .gid = address_of(&side).gid}, &quick);
	close_side(&side);
	CHECK_EQUAL(softverbs_set_secret(first, 16), 0);
	CHECK_EQUAL(softverbs_set_secret(other, 16), EBUSY);
}

int main(void)
{
	static void (*const bodies[])(void) = {equalSecretsConnect, differentSecretsDoNot, oneSecretDoesNot,
					       aSecretThatCannotBeUsedLetsNobodyIn, secretCannotChangeOnceUsed};

	for (unsigned int i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		test_run_apart(bodies[i]);
	if (!getuid()) {
		test_run_apart(anotherUserNeedsTheSecret);
		test_run_apart(anotherUserWithTheSecretConnects);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listener answers requests of peers that know the secret; the others see UNREACHABLE, and it sees nothing. So does a client
 * with a secret that asks a listener without one.
 */
#include "cm_fixture.h"
#include "softverbs.h"

static const char *server_secret, *client_secret;
static bool is_let_in;

static void use_secret(const char *secret)
{
	if (secret)
		CHECK_EQUAL(softverbs_set_secret(secret, strlen(secret)), 0);
}

static void client(int fd)
{
	struct rdma_conn_param param = cm_param(NULL, 0);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint16_t port;

	use_secret(client_secret);
	test_receive(fd, &port, sizeof(port));
	channel = cm_channel_open();
	id = cm_id_open(channel);
	cm_resolve(id, "127.0.0.1", port);
	cm_add_qp(id);
	CHECK(!softverbs_rdma_connect(id, &param));
	if (is_let_in)
		CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_ESTABLISHED), 0);
	else
		CHECK_EQUAL(cm_take(channel, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	cm_close(id);
	softverbs_rdma_destroy_event_channel(channel);
}

static void serve(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	uint16_t port;

	use_secret(server_secret);
	channel = cm_channel_open();
	listener = cm_listen_on(channel, "127.0.0.1", 8, &port);
	test_send(peer.fd, &port, sizeof(port));
	if (is_let_in)
		cm_close(cm_accept_from(channel));
	test_join_peer(&peer);
	CHECK(!test_readable(channel->fd, 0));
	CHECK(!softverbs_rdma_destroy_id(listener));
	softverbs_rdma_destroy_event_channel(channel);
}

static void equalSecretsConnect(void)
{
	server_secret = client_secret = "open sesame, please";
	is_let_in = true;
	serve();
}

static void differentSecretsDoNot(void)
{
	server_secret = "open sesame, please";
	client_secret = "open barley, please";
	serve();
}

static void aClientWithoutTheSecretDoesNot(void)
{
	server_secret = "open sesame, please";
	serve();
}

static void aServerWithoutTheSecretIsNotTrusted(void)
{
	client_secret = "open sesame, please";
	serve();
}

int main(void)
{
	static void (*const bodies[])(void) = {equalSecretsConnect, differentSecretsDoNot,
					       aClientWithoutTheSecretDoesNot,
					       aServerWithoutTheSecretIsNotTrusted};

	for (unsigned int i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		test_run_apart(bodies[i]);
}

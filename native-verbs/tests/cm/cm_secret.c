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
	struct rdma_event_channel *channel;
	uint16_t port;

	use_secret(client_secret);
	port = cm_receive_port(fd);
	channel = cm_channel_open();
	if (is_let_in)
		cm_close(cm_connect_to(channel, CM_LOOPBACK, port));
	else
		CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	softverbs_rdma_destroy_event_channel(channel);
}

static void serve(void)
{
	struct test_peer peer = test_start_peer(client);
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;

	use_secret(server_secret);
	channel = cm_channel_open();
	listener = cm_listen_for(peer.fd, channel, 8);
	if (is_let_in)
		cm_close(cm_accept_from(channel));
	test_join_peer(&peer);
	CHECK(!test_readable(channel->fd, 0));
	cm_close_all(channel, listener);
}

int main(void)
{
	static const char first[] = "open sesame, please", second[] = "open barley, please";
	static const char *const secrets[][2] = {{first, first}, {first, second}, {first, NULL}, {NULL, first}};

	for (int i = 0; i < 4; i++) {
		server_secret = secrets[i][0];
		client_secret = secrets[i][1];
		is_let_in = server_secret == client_secret;
		test_run_apart(serve);
	}
}

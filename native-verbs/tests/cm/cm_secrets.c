/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A listener that accepts the secrets of two applications beside its own lets the processes of both in, and READs from
 * it work. A process with another secret sees UNREACHABLE, and so does one whose secret has been forgotten, while the
 * connections made before stay.
 */
#include "cm_fixture.h"
#include "softverbs.h"

#include <errno.h>

static const char own[] = "open wheat, please", first[] = "open sesame, please", second[] = "open barley, please",
		  third[] = "open millet, please";

static const char *client_secret;
static bool is_let_in;

static void client(int fd)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	uint16_t port;

	CHECK_EQUAL(softverbs_set_secret(client_secret, strlen(client_secret)), 0);
	port = cm_receive_port(fd);
	channel = cm_channel_open();
	if (is_let_in) {
		id = cm_connect_to(channel, CM_LOOPBACK, port);
		test_rendezvous(fd);
		CHECK(!test_readable(channel->fd, 0)); /* it is still connected */
		cm_close(id);
	} else {
		CHECK_EQUAL(cm_refusal_of(channel, CM_LOOPBACK, port, RDMA_CM_EVENT_UNREACHABLE), -ETIMEDOUT);
	}
	softverbs_rdma_destroy_event_channel(channel);
}

static struct test_peer start(const char *secret, bool let_in)
{
	client_secret = secret;
	is_let_in = let_in;
	return test_start_peer(client);
}

static void serve(void)
{
	struct test_peer of_first = start(first, true), of_second = start(second, true), stranger = start(third, false),
			 late = start(second, false);
	struct rdma_cm_id *listener, *to_first, *to_second;
	struct rdma_event_channel *channel;
	uint16_t port;

	CHECK_EQUAL(softverbs_accept_secret("short", 5), EINVAL);
	CHECK_EQUAL(softverbs_forget_secret(first, strlen(first)), ENOENT);
	CHECK_EQUAL(softverbs_set_secret(own, strlen(own)), 0);
	channel = cm_channel_open();
	listener = cm_listen_on(channel, CM_LOOPBACK, 8, &port);
	CHECK_EQUAL(softverbs_accept_secret(first, strlen(first)), 0);
	CHECK_EQUAL(softverbs_accept_secret(second, strlen(second)), 0);
	CHECK_EQUAL(softverbs_accept_secret(second, strlen(second)), 0);
	test_send(of_first.fd, &port, sizeof(port));
	to_first = cm_accept_from(channel);
	test_await(of_first.fd);
	CHECK_EQUAL(softverbs_forget_secret(second, strlen(second)), 0); /* it was accepted twice */
	test_send(of_second.fd, &port, sizeof(port));
	to_second = cm_accept_from(channel);
	test_await(of_second.fd);

	CHECK_EQUAL(softverbs_forget_secret(second, strlen(second)), 0);
	CHECK_EQUAL(softverbs_forget_secret(second, strlen(second)), ENOENT);
	test_send(stranger.fd, &port, sizeof(port));
	test_send(late.fd, &port, sizeof(port));
	test_join_peer(&stranger);
	test_join_peer(&late);
	CHECK(!test_readable(channel->fd, 0));

	test_signal(of_first.fd);
	test_signal(of_second.fd);
	test_join_peer(&of_first);
	test_join_peer(&of_second);
	cm_close_all(channel, to_first, to_second, listener);
}

MAIN(test_run_apart, serve)

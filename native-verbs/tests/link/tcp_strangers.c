/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP is open to everybody on the network, so: a listener only where a secret is set; who cannot prove it is refused, and
 * costs nothing; and a crowd of silent connections neither takes the descriptors nor keeps friends out.
 */
#include "descriptors.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

#include <arpa/inet.h>

enum { CROWD = 600, ALLOWED_DESCRIPTORS = 300, BYTES = 4096 };

static int connect_tcp(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	CHECK_EQUAL(errno, ECONNREFUSED);
	close(fd);
	return -1;
}

/* A proof of zeros, which is what goes without a secret. */
static void expect_refusal(uint16_t port, enum link_kind kind)
{
	int fd = connect_tcp(port);
	struct frame frame;
	char rest[64];

	CHECK(fd >= 0);
	raw_link_prove(fd, kind, raw_write_frame);
	CHECK(test_readable(fd, WAIT_MS));
	CHECK(raw_read_frame(fd, &frame, rest, sizeof(rest)));
	CHECK_EQUAL(frame.op, FRAME_REFUSED);
	CHECK_EQUAL(frame.status, EACCES);
	CHECK(test_readable(fd, WAIT_MS));
	CHECK(!raw_read_frame(fd, &frame, rest, sizeof(rest)));
	close(fd);
}

/* A frame of the open state before the proof. */
static void expect_hang_up(uint16_t port)
{
	struct link_hello hello = raw_link_hello(LINK_KIND_QP);
	struct frame frame = {.op = FRAME_HELLO, .length = sizeof(hello)};
	struct qp_open open = {0};
	int fd = connect_tcp(port);

	CHECK(fd >= 0);
	CHECK(raw_write_frame(fd, &frame, &hello));
	CHECK(raw_read_frame(fd, &frame, &hello, sizeof(hello)));
	frame = (struct frame){.op = WIRE_QP_OPEN, .length = sizeof(open)};
	raw_write_frame(fd, &frame, &open);
	CHECK(test_readable(fd, WAIT_MS));
	CHECK(!raw_read_frame(fd, &frame, NULL, 0));
	close(fd);
}

static void crowd(int control)
{
	uint16_t port;

	limit_descriptors(2 * CROWD);
	test_receive(control, &port, sizeof(port));
	expect_refusal(port, LINK_KIND_QP);
	expect_refusal(port, LINK_KIND_CM);
	expect_hang_up(port);
	for (int i = 0; i < CROWD; i++)
		CHECK(connect_tcp(port) >= 0);
	test_rendezvous(control);
}

static void expect_service(struct pair *pair)
{
	static uint8_t byte;

	pair->remote->bytes[BYTES - 1] = ++byte;
	pair_run(pair, IBV_WR_RDMA_READ, 1, BYTES, IBV_WC_SUCCESS);
	CHECK_EQUAL(pair->local->bytes[BYTES - 1], byte);
}

static void with_a_secret(void)
{
	struct test_peer peer = test_start_peer(crowd);
	struct pair pair, another;
	uint16_t port;
	int descriptors;

	setenv("SOFTVERBS_SECRET", "the secret of this test", 1);
	setenv("SOFTVERBS_PATH", "tcp", 1);
	open_pair_as(&pair, &(struct pair_setup){.bytes = BYTES});
	expect_service(&pair);
	descriptors = open_descriptors();
	port = pair.a.qp->qp_num >> 8;
	test_send(peer.fd, &port, sizeof(port));
	test_await(peer.fd);
	expect_service(&pair);
	open_pair_as(&another, &(struct pair_setup){.bytes = BYTES});
	expect_service(&another);
	CHECK(open_descriptors() - descriptors < ALLOWED_DESCRIPTORS);
	test_finish_peer(&peer);
	close_side(&another.a);
	close_side(&another.b);
	close_pair(&pair);
}

static void without_one(void)
{
	struct side side;

	unsetenv("SOFTVERBS_SECRET");
	unsetenv("SOFTVERBS_SECRET_FILE");
	open_side(&side, 16, 16);
	CHECK_EQUAL(connect_tcp(side.qp->qp_num >> 8), -1);
	close_side(&side);
}

int main(void)
{
	test_run_apart(without_one);
	with_a_secret();
}

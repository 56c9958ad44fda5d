/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stranger costs a process that accepts many secrets does not depend on how many they are: forged requests of rdma_cm and
 * forged proofs on links take no more of its time with as many secrets as there can be than with one.
 */
#include <sys/resource.h>

#include "cm/cm_wire.h"
#include "cm_fixture.h"
#include "raw_responder.h"
#include "softdev_fixture.h"

enum { MANY = 4096, DATAGRAMS = 60, PROOFS = 60, GROWS_AT_MOST = 4, NOISE_US = 50000 };

static const char own[] = "the secret of the server";
static int secrets;

static long used_us(void)
{
	struct rusage usage;

	CHECK(!getrusage(RUSAGE_SELF, &usage));
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

static void serve(int fd)
{
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id;
	struct side side;
	uint16_t port;
	long used;

	CHECK_EQUAL(softverbs_set_secret(own, strlen(own)), 0);
	for (int i = 0; i < secrets; i++) {
		char secret[32];

		snprintf(secret, sizeof(secret), "of application %08d", i);
		CHECK_EQUAL(softverbs_accept_secret(secret, strlen(secret)), 0);
	}
	open_side(&side, 16, 16);
	port = side.qp->qp_num >> 8;
	test_send(fd, &port, sizeof(port));
	channel = cm_channel_open();
	used = used_us();
	listener = cm_listen_for(fd, channel, 8);
	id = cm_take_request(channel, NULL); /* the last of all */
	used = used_us() - used;
	test_send(fd, &used, sizeof(used));
	cm_close_all(channel, id, listener);
	close_side(&side);
}

static void forge_requests(uint16_t port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
	struct cm_datagram request = {.magic = CM_DATAGRAM_MAGIC, .version = CM_WIRE_VERSION, .kind = CM_DATAGRAM_REQUEST};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (int i = 0; i < DATAGRAMS; i++) {
		memset(request.key_id, i, sizeof(request.key_id));
		CHECK_EQUAL(sendto(fd, &request, sizeof(request), 0, (const struct sockaddr *)&address, sizeof(address)),
			    sizeof(request));
	}
	close(fd);
}

/* Each is refused. */
static void forge_proofs(uint16_t port)
{
	for (int i = 0; i < PROOFS; i++) {
		int fd = raw_link_connect(port);
		struct frame answer;

		raw_link_prove(fd, LINK_KIND_CM, raw_write_frame);
		CHECK(raw_read_frame(fd, &answer, NULL, 0));
		CHECK_EQUAL(answer.op, FRAME_REFUSED);
		CHECK_EQUAL(answer.status, EACCES);
		close(fd);
	}
}

static long *shared_used; /* with the process that measures */

static void pester(void)
{
	struct test_peer peer = test_start_peer(serve);
	uint16_t links, requests;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;

	CHECK_EQUAL(softverbs_set_secret(own, strlen(own)), 0);
	links = cm_receive_port(peer.fd);
	requests = cm_receive_port(peer.fd);
	forge_proofs(links);
	forge_requests(requests);
	channel = cm_channel_open();
	id = cm_ask(channel, CM_LOOPBACK, requests);
	test_receive(peer.fd, shared_used, sizeof(*shared_used));
	cm_take(channel, RDMA_CM_EVENT_REJECTED);
	cm_close_all(channel, id);
	test_join_peer(&peer);
}

static long cost_with(int count)
{
	secrets = count;
	test_run_apart(pester);
	fprintf(stderr, "%d secrets: %ld us\n", count, *shared_used);
	return *shared_used;
}

int main(void)
{
	shared_used = mmap(NULL, sizeof(*shared_used), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared_used != MAP_FAILED);
	CHECK(cost_with(MANY) < GROWS_AT_MOST * cost_with(1) + NOISE_US);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A READ that kills its peer, or stops it: over the wire both end in retries, and the stopped one comes back. */
#include "fault_fixture.h"
#include "offer.h"

/* Serves one connection after the other, until the test closes its end. */
static void serve(int fd)
{
	struct region *region;
	struct address remote;
	struct side side;

	open_side(&side, 16, 16);
	region = add_region(&side, 4096, ALL_REMOTE);
	while (read(fd, &remote, sizeof(remote)) == sizeof(remote)) {
		struct offer offer = offer_of(&side, region);

		reconnect_side(&side, &remote, NULL);
		test_send(fd, &offer, sizeof(offer));
	}
	close_side(&side);
}

static void read_twice(struct test_peer *peer, enum ibv_wc_status second)
{
	static const struct connection patient = {.timeout = 10, .retry_count = 1};
	struct region *sink;
	struct offer offer;
	struct side side;

	offer = open_reader(peer->fd, &side, 4096, &patient, &sink);
	for (int i = 1; i <= 2; i++)
		read_and_expect(&side, i, sink, 64, offer.addr, offer.rkey, i == 2 ? second : IBV_WC_SUCCESS);
	close_side(&side);
}

static void peerIsKilled(void)
{
	struct test_peer peer = test_start_peer(serve);
	int status;

	read_twice(&peer, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(waitpid(peer.pid, &status, 0), peer.pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void peerIsStopped(void)
{
	struct test_peer peer = test_start_peer(serve);
	int status;

	read_twice(&peer, IBV_WC_RETRY_EXC_ERR);
	CHECK_EQUAL(waitpid(peer.pid, &status, WUNTRACED), peer.pid);
	CHECK(WIFSTOPPED(status));
	CHECK(!kill(peer.pid, SIGCONT));
	read_twice(&peer, IBV_WC_SUCCESS);
	shutdown(peer.fd, SHUT_WR);
	test_join_peer(&peer);
}

static const struct fault_case cases[] = {
	{"read:killpeer,remote,nth=2", .body = peerIsKilled, .path = "wire"},
	{"read:stoppeer,nth=2", .body = peerIsStopped, .path = "wire"},
};

FAULT_MAIN(cases)
